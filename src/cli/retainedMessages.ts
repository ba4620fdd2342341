// The retained messages that an installation has left on its broker: found, and cleared for good.
import type { Mqtt } from '../config/schema.ts';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, failure } from '../foundation/failure.ts';
import { openBroker } from '../mqtt/broker.ts';
import { filtersOf, isDiscovery, isOurs } from '../publication/ownership.ts';
import { clear, Topics } from '../publication/topics.ts';

const notCleared = (what: string, cause?: unknown) =>
  failure('not_cleared', what, {
    exit: EXIT.broker,
    retry: 'later',
    hint: 'Check that the broker lets mqtt.username write there. What was cleared stays cleared.',
    cause,
  });

const AT_ONCE = 32;
// Retained messages follow a subscription at once; only a silence shows that the last one has come.
const SILENCE_MS = 700;
const LONGEST_ANSWER_MS = 2_000;
const LOOK_MS = 100;

export type RetainedMessages = Awaited<ReturnType<typeof findRetained>>;

/** `installation`: as for `openBroker`. `remembered`: topics that count as ours, whether the broker shows them or not. Rejects as `openBroker` does. */
export async function findRetained(
  mqtt: Mqtt,
  installation: string,
  remembered: readonly string[],
  clock: Clock,
) {
  const topics = new Topics(mqtt.base_topic);
  const filters = filtersOf(topics, mqtt.discovery_prefix);
  const found = new Set<string>();
  let state = '';
  let answers = 0;
  let heard = 0;

  const connection = await openBroker(mqtt, installation, 'uninstall', clock, (incoming) => {
    const { topic, payload, retained } = incoming;
    heard += 1;
    if (topic === topics.of('bridge/state')) state = payload.toString('utf8');
    if (topic === topics.of('bridge/response/health') && !retained) answers += 1;
    if (retained && payload.length > 0 && isOurs(topics, incoming)) found.add(topic);
  });

  /** Resolves to false when the broker does not let us: what is remembered can be cleared all the same. */
  async function read(): Promise<boolean> {
    const isReadable = await connection.subscribe(filters).then(
      () => true,
      () => false,
    );
    for (let before = -1; isReadable && before !== heard; ) {
      before = heard;
      await clock.sleep(SILENCE_MS);
    }
    return isReadable;
  }

  const isReadable = await read();
  for (const topic of remembered) found.add(topic);
  return {
    topics: [...found].sort(),
    devices: [...found].filter(isDiscovery).length,
    /** Whether a daemon answers. One that was killed together with its broker has left `online` behind. */
    async isInUse(): Promise<boolean> {
      if (state !== 'online') return false;
      const request = { topic: topics.of('bridge/request/health'), payload: '', retain: false };
      await connection.publish(request).catch(refuse);
      for (let waited = 0; waited < LONGEST_ANSWER_MS && answers === 0; waited += LOOK_MS)
        await clock.sleep(LOOK_MS);
      return answers > 0;
    },
    /** Clears them, and looks again. Rejects with not_cleared. */
    async clear(): Promise<void> {
      // Devices first: without them nobody misses the states.
      const left = [...found].sort((a, b) => Number(isDiscovery(b)) - Number(isDiscovery(a)));
      while (left.length > 0)
        await Promise.all(left.splice(0, AT_ONCE).map((topic) => connection.publish(clear(topic)))).catch(
          refuse,
        );
      if (!isReadable) return;
      for (const filter of filters) await connection.unsubscribe(filter).catch(refuse);
      found.clear();
      await read();
      const [first] = found;
      if (first !== undefined) throw notCleared(`The broker still keeps ${found.size}, such as ${first}.`);
    },
    close: () => connection.close(500),
  };
}

function refuse(err: unknown): never {
  throw notCleared('The broker did not take it.', err);
}

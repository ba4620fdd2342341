// The registers that the meters themselves publish on the broker: listened for, and offered where the identifier is a meter's own.
import { isMeterTopic } from '../../config/schema.ts';
import { readRegister } from '../../domain/witness.ts';
import { openBroker } from '../../mqtt/broker.ts';
import type { Incoming } from '../../mqtt/message.ts';
import { openUpstreamBeside } from '../account.ts';
import type { Io } from '../command.ts';
import type { Settings } from '../settings.ts';
import { isYes } from './asking.ts';
import type { Interview } from './interview.ts';

/** A meter sends every 16 seconds or so. */
const LISTEN_MS = 20_000;
const CLOSE_MS = 1_000;

/** Takes what the person agrees to. Rejects with a Failure of the provider or the broker. */
export async function offerWitnesses({ io, answers }: Interview): Promise<void> {
  const settings = await answers.settings();
  const { properties } = await openUpstreamBeside(settings, io).provider.discover();
  const meters = properties.flatMap(({ meterIdentifiers }) => meterIdentifiers);
  io.out(`Listening for ${LISTEN_MS / 1000} seconds for the registers of ${meters.join(', ')} …\n`);
  const registers = await hearRegisters(settings, meters, io);
  for (const [meter, topic] of registers) {
    const words = `${topic} has a register of ${meter}. Show it beside the provider's days?`;
    if (!(await isYes(io, words))) continue;
    const configured = Object(answers.at('meters'));
    answers.put('meters', { ...configured, [meter]: { ...configured[meter], witness: { topic } } });
  }
  if (registers.size === 0)
    io.out('None was heard. docs/witness.md tells what can publish one, and how its topic is configured.\n');
}

/** The topic on which each of the meters was heard, until all of them were. */
async function hearRegisters(
  { config: { mqtt } }: Settings,
  meters: readonly string[],
  { clock, interrupted }: Io,
): Promise<ReadonlyMap<string, string>> {
  const topics = new Map<string, string>();
  const enough = new AbortController();
  function onMessage({ topic, payload }: Incoming): void {
    if (topic.startsWith(`${mqtt.base_topic}/`) || !isMeterTopic(topic)) return;
    const telegram = readRegister(payload, {});
    if ('refused' in telegram) return;
    const names = [telegram.meter, ...topic.split('/')];
    const meter = meters.find((identifier) => names.includes(identifier));
    if (meter !== undefined && !topics.has(meter)) topics.set(meter, topic);
    if (topics.size === meters.length) enough.abort();
  }
  const connection = await openBroker(mqtt, 'setup', clock, { onMessage });
  try {
    const [refused] = await connection.subscribe([{ filter: '#' }]);
    if (refused) throw refused;
    void connection.ended.then(() => enough.abort());
    await clock.sleep(LISTEN_MS, AbortSignal.any([interrupted, enough.signal]));
    if (topics.size === 0) await connection.mustBeOpen();
  } finally {
    await connection.close(CLOSE_MS);
  }
  return topics;
}

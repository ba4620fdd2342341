// The part of heat2mqtt check that tries the broker: whether it takes what is published, and lets us hear what is needed.
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../foundation/clock.ts';
import { EXIT, failure } from '../../foundation/failure.ts';
import { openBroker } from '../../mqtt/broker.ts';
import type { Connection } from '../../mqtt/connection.ts';
import { lossesBy } from '../../mqtt/limits.ts';
import type { Subscription } from '../../mqtt/message.ts';
import { endedOver, publishRefused, SubscribeRefused } from '../../mqtt/refusals.ts';
import { deviceId } from '../../publication/discovery.ts';
import {
  householdSubscriptions,
  processSubscriptions,
  retainedHistory,
  retainedInfo,
  witnessSubscriptions,
} from '../../publication/subscriptions.ts';
import { clear, Topics } from '../../publication/topics.ts';
import type { Check, Outcome } from './outcome.ts';

type Mqtt = Config['mqtt'];
type Connect = () => Promise<Connection>;

const CLOSE_MS = 1_000;

/** Its subscriptions are tried only where it is reached. */
export function* brokerChecks(config: Config, clock: Clock): Generator<Check> {
  const { mqtt } = config;
  let isReached = false;
  const connect: Connect = async () => {
    // Brokers may refuse a connection for its will: that of the daemon is retained, too.
    const will = { topic: ownTopic(mqtt.base_topic), payload: 'offline', retain: true };
    const connection = await openBroker(mqtt, 'check', clock, { will });
    isReached = true;
    return connection;
  };
  yield { name: 'broker', run: () => tryToWrite(mqtt, connect) };
  if (isReached) yield { name: 'subscriptions', run: () => tryToHear(config, connect) };
}

async function tryToWrite(mqtt: Mqtt, connect: Connect): Promise<Outcome> {
  const connection = await connect();
  const topics = topicsBelow(mqtt);
  try {
    for (const topic of topics.values()) await tryTopic(connection, topic);
  } finally {
    await connection.close(CLOSE_MS);
  }
  const losses = lossesBy(connection.limits).map(({ message, hint }) => `${message} ${hint}`);
  return { message: writingWords(connection, topics.keys()), hint: losses.join(' ') };
}

async function tryTopic(connection: Connection, topic: string): Promise<void> {
  const refusal = await connection.publish(clear(topic)).catch(async () => {
    // Some brokers end the connection over a topic that they refuse.
    await connection.close(0);
    return publishRefused(topic, endedOver(await connection.ended));
  });
  if (refusal) throw refusal;
}

/**
 * The topics that it tries to write, by what they stand below. Nothing is ever retained on the one beside ours, nor on the other: to clear
 * them disturbs nobody.
 */
function topicsBelow({ base_topic: base, discovery_prefix: prefix }: Mqtt): ReadonlyMap<string, string> {
  const topics = new Map([[base, ownTopic(base)]]);
  if (prefix !== false) topics.set(prefix, `${prefix}/device/${deviceId(base, 'bridge', 'check')}/config`);
  return topics;
}

const ownTopic = (base: string): string => `${base}/bridge/check`;

function writingWords({ version, limits }: Connection, places: Iterable<string>): string {
  // MQTT 3.1.1 has no word for a refusal.
  if (version !== 5) return 'connected with MQTT 3.1.1';
  if (limits.maximumQoS === 0) return 'connected with MQTT 5';
  return `connected with MQTT 5, may write below ${[...places].join(' and ')}`;
}

/** All that `run` asks for. */
function subscriptionsOf({ fleet, mqtt, meters }: Config): readonly Subscription[] {
  const topics = new Topics(mqtt.base_topic);
  if (!fleet) {
    const witnesses = witnessSubscriptions(meters);
    return [
      ...householdSubscriptions(topics, mqtt.discovery_prefix, witnesses),
      retainedHistory(topics, '+'),
    ];
  }
  return [...processSubscriptions(topics), retainedInfo(topics)].map((subscription) => ({
    ...subscription,
    // The check takes another name, or it would share the requests of the processes and take some of them.
    filter: subscription.filter.replace(/^\$share\/[^/]+/, '$&_check'),
  }));
}

/** Rejects with `subscribe_refused`, which names all that the broker refuses. */
async function tryToHear(config: Config, connect: Connect): Promise<string> {
  const subscriptions = subscriptionsOf(config);
  const refusals: SubscribeRefused[] = [];
  let connection = await connect();
  for (const subscription of subscriptions) {
    const answer = await connection.subscribe([subscription]).catch(() => null);
    refusals.push(...(answer ?? [SubscribeRefused.byEnd(subscription, await connection.ended)]));
    // Some brokers end the connection over a subscription that they refuse.
    if (answer === null) connection = await connect();
  }
  await connection.close(CLOSE_MS);
  if (refusals.length === 0)
    return `the broker takes all: ${subscriptions.map(({ filter }) => filter).join(', ')}`;
  throw failure('subscribe_refused', refusals.map(({ message }) => message).join(' '), {
    exit: EXIT.broker,
    retry: 'later',
    hint: [...new Set(refusals.map(({ hint }) => hint))].join(' '),
  });
}

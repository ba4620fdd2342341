// The part of heat2mqtt check that tries the broker: whether it takes what is published, and lets us hear what is needed.
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../foundation/clock.ts';
import { EXIT, failure } from '../../foundation/failure.ts';
import { openBroker } from '../../mqtt/broker.ts';
import type { Connection } from '../../mqtt/connection.ts';
import { lossesBy } from '../../mqtt/limits.ts';
import type { Subscription } from '../../mqtt/message.ts';
import { PublishRefused, SubscribeRefused } from '../../mqtt/refusals.ts';
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
  const opened = { count: 0 };
  const connect: Connect = async () => {
    // Brokers may refuse a connection for its will: that of the daemon is retained, too.
    const will = { topic: ownPlace(mqtt).topic, payload: 'offline', retain: true };
    const connection = await openBroker(mqtt, 'check', clock, { will });
    opened.count += 1;
    return connection;
  };
  yield { name: 'broker', run: () => tryToWrite(mqtt, connect) };
  if (opened.count > 0) yield { name: 'subscriptions', run: () => tryToHear(config, connect) };
}

async function tryToWrite(mqtt: Mqtt, connect: Connect): Promise<Outcome> {
  const connection = await connect();
  const places = writingPlaces(mqtt);
  try {
    for (const { topic } of places) await tryTopic(connection, topic);
  } finally {
    await connection.close(CLOSE_MS);
  }
  const losses = lossesBy(connection.limits).map(({ message, hint }) => `${message} ${hint}`);
  return { message: writingWords(connection, places), hint: losses.join(' ') };
}

async function tryTopic(connection: Connection, topic: string): Promise<void> {
  const refusal = await connection.publish(clear(topic)).catch(async () => {
    // Some brokers end the connection over a topic that they refuse.
    await connection.close(0);
    return PublishRefused.byEnd(topic, await connection.ended);
  });
  if (refusal) throw refusal;
}

interface WritingPlace {
  readonly below: string;
  readonly topic: string;
}

/** Nothing is ever retained on this topic beside ours, nor on the other one: to clear them disturbs nobody. */
const ownPlace = ({ base_topic: base }: Mqtt): WritingPlace => ({
  below: base,
  topic: `${base}/bridge/check`,
});

function writingPlaces(mqtt: Mqtt): WritingPlace[] {
  const { base_topic: base, discovery_prefix: prefix } = mqtt;
  const ours = ownPlace(mqtt);
  if (prefix === false) return [ours];
  return [ours, { below: prefix, topic: `${prefix}/device/${deviceId(base, 'bridge', 'check')}/config` }];
}

function writingWords({ version, limits }: Connection, places: readonly WritingPlace[]): string {
  // MQTT 3.1.1 has no word for a refusal.
  if (version !== 5) return 'connected with MQTT 3.1.1';
  if (limits.maximumQoS === 0) return 'connected with MQTT 5';
  return `connected with MQTT 5, may write below ${places.map(({ below }) => below).join(' and ')}`;
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
    // As one more of those that share it, the check would take requests from the processes.
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

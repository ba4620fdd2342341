// The topics that are heard, and what is lost where the broker refuses one of them.
import type { Config } from '../config/schema.ts';
import type { Subscription } from '../mqtt/message.ts';
import type { Topics } from './topics.ts';

const REQUESTS = 'requests over MQTT, and with them the buttons at Home Assistant';

/** `prefix`: of the discovery, which is also where Home Assistant announces itself. */
export function householdSubscriptions(
  topics: Topics,
  prefix: string | false,
  witnesses: readonly Subscription[],
): Subscription[] {
  // A retained request would be asked again at each connection.
  const requests: Subscription = { filter: topics.requests, lost: REQUESTS, retainAsPublished: true };
  const subscriptions = [requests, ...bridgeSubscriptions(topics), ...witnesses];
  if (prefix === false) return subscriptions;
  const birth = {
    filter: homeAssistantStatus(prefix),
    lost: "Home Assistant's birth message, after which it is told of everything at once",
  };
  return [...subscriptions, birth];
}

/** The topics of the meters' own registers, each once. */
export function witnessSubscriptions(meters: Config['meters']): Subscription[] {
  const filters = new Set(Object.values(meters).flatMap(({ witness }) => witness?.topic ?? []));
  return [...filters].map((filter) => ({ filter, lost: 'what a meter itself says of its register' }));
}

/** Messages of others on the topics that only we should write. */
export const bridgeSubscriptions = (topics: Topics): Subscription[] => [
  {
    filter: topics.of('bridge/state'),
    lost: 'an offline that another installation leaves behind, which is put right',
  },
  { filter: topics.of('bridge/info'), lost: 'whether another installation has the same base topic' },
];

export const homeAssistantStatus = (prefix: string): string => `${prefix}/status`;

/** Each process of a fleet has them, and one of them gets each request. */
export const processSubscriptions = (topics: Topics): Subscription[] => [
  { filter: `$share/${topics.base.replaceAll('/', '_')}/${topics.requests}`, lost: REQUESTS },
];

/** Read once, for a ledger that is new. */
export const retainedHistory = (topics: Topics, meter: string): Subscription => ({
  filter: topics.of('meter/<meter>/history', meter),
  lost: 'the history that the broker keeps, should the state directory be lost',
});

/** Read by the keeper of a fleet with each of its connections. */
export const retainedInfo = (topics: Topics): Subscription => ({
  filter: topics.of('bridge/info'),
  lost: 'whether the broker has forgotten everything, so that all accounts are published again',
});

// The topics that are heard, and what is lost where the broker refuses one of them.
import type { Subscription } from '../mqtt/message.ts';
import type { Topics } from './topics.ts';

const REQUESTS = 'requests over MQTT, and with them the buttons at Home Assistant';

/** `prefix`: of the discovery, which is also where Home Assistant announces itself. */
export function householdSubscriptions(topics: Topics, prefix: string | false): Subscription[] {
  // A retained request would be asked again at each connection.
  const requests: Subscription = { filter: topics.requests, lost: REQUESTS, retainAsPublished: true };
  if (prefix === false) return [requests];
  const birth = {
    filter: homeAssistantStatus(prefix),
    lost: "Home Assistant's birth message, after which it is told of everything at once",
  };
  return [requests, birth];
}

export const homeAssistantStatus = (prefix: string): string => `${prefix}/status`;

/** Each process of a fleet has these; one of them gets each request. */
export function processSubscriptions(topics: Topics): Subscription[] {
  return [
    { filter: `$share/${topics.base.replaceAll('/', '_')}/${topics.requests}`, lost: REQUESTS },
    {
      filter: topics.of('bridge/state'),
      lost: 'what is said of a process that died, which another one puts right',
    },
  ];
}

/** Read once, for ledgers that are new. */
export const retainedHistories = (topics: Topics): Subscription => ({
  filter: topics.of('meter/<meter>/history', '+'),
  lost: 'the histories that the broker keeps, should the state directory be lost',
});

/** Read by the keeper of a fleet with each of its connections. */
export const retainedInfo = (topics: Topics): Subscription => ({
  filter: topics.of('bridge/info'),
  lost: 'whether the broker has forgotten everything, so that all accounts are published again',
});

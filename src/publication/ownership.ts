// Which retained messages on a broker an installation has left there.
import type { Incoming } from '../mqtt/message.ts';
import type { TopicName } from './payloads/payloads.ts';
import type { Topics } from './topics.ts';

/** All topics that are retained, as a test compares: the program does not load their schemas. */
export const RETAINED: readonly TopicName[] = [
  'bridge/state',
  'bridge/process/<number>/state',
  'bridge/info',
  'bridge/health',
  'bridge/constituencies',
  'meter/<meter>/state',
  'meter/<meter>/usage/<interval>',
  'meter/<meter>/history',
  'meter/<meter>/statement',
  'account/<account>/state',
  'account/<account>/invoices',
  'constituencies/<chamber>/<house_no>',
];

/** Filters that let through all that may be ours. `prefix`: of the discovery. */
export const filtersOf = (topics: Topics, prefix: string | false): string[] => [
  `${topics.base}/#`,
  ...(prefix === false ? [] : [`${prefix}/device/+/config`]),
];

/** One of the topics below its base topic, or a discovery document whose availability is that of its bridge. */
export function isOurs(topics: Topics, { topic, payload }: Pick<Incoming, 'topic' | 'payload'>): boolean {
  if (isDiscovery(topic)) return availabilityIn(payload) === topics.of('bridge/state');
  const start = `${topics.base}/`;
  return topic.startsWith(start) && RETAINED.some((template) => fits(template, topic.slice(start.length)));
}

export const isDiscovery = (topic: string): boolean => /\/device\/[^/]+\/config$/.test(topic);

function fits(template: TopicName, name: string): boolean {
  const levels = name.split('/');
  const wanted = template.split('/');
  const isSame = (level: string, at: number) => level.startsWith('<') || level === levels[at];
  return levels.length === wanted.length && wanted.every(isSame);
}

function availabilityIn(payload: Buffer): unknown {
  try {
    return Object(JSON.parse(payload.toString('utf8'))).availability_topic;
  } catch {
    // Other programs publish there too.
    return undefined;
  }
}

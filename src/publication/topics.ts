// Topics below the base topic, how a payload gets there, and which retained messages on a broker are an installation's own. Each topic is
// entered once, in payloads/payloads.ts.
import { jsonText } from '../foundation/json.ts';
import type { Incoming, Message } from '../mqtt/message.ts';
import type { PayloadByTopic, TopicName } from './payloads/payloads.ts';

/** A text for each `<…>` of a topic, in order. */
type Levels<T extends string> = T extends `${string}<${string}>${infer Rest}`
  ? [string, ...Levels<Rest>]
  : [];

/** A retained topic as it stands now, written when it is asked for. */
export interface WrittenTopic {
  readonly topic: string;
  readonly write: () => Message;
  readonly sources?: readonly unknown[] | undefined;
}

export class Topics {
  readonly base: string;

  constructor(base: string) {
    this.base = base;
  }

  /** `topics.of('meter/<meter>/state', '70418235')`: `heat2mqtt/meter/70418235/state`. */
  of<T extends TopicName>(topic: T, ...levels: Levels<T>): string {
    const left: string[] = [...levels];
    return `${this.base}/${topic.replace(/<\w+>/g, () => left.shift() ?? '')}`;
  }

  /** The filter of all requests. */
  get requests(): string {
    return `${this.base}/bridge/request/+`;
  }

  /** The topics that have everything that we publish by ourselves below them. */
  get branches(): string[] {
    const levels = Object.keys(RETAINED).map((topic) => topic.slice(0, topic.indexOf('/')));
    return [...new Set(levels)].map((level) => `${this.base}/${level}`);
  }

  /** The retained message there. `sources`: while these are the same objects as the last time, it is not written again. */
  retain<T extends keyof PayloadByTopic>(
    topic: T,
    levels: Levels<T>,
    payload: () => PayloadByTopic[T],
    sources?: readonly unknown[],
  ): WrittenTopic {
    return {
      topic: this.of(topic, ...levels),
      write: () => this.message(topic, levels, payload()),
      sources,
    };
  }

  /** A JSON payload with its schema number. */
  message<T extends keyof PayloadByTopic>(topic: T, levels: Levels<T>, payload: PayloadByTopic[T]): Message {
    return {
      topic: this.of(topic, ...levels),
      payload: jsonText({ schema: 1, ...payload }),
      retain: isRetained(topic),
    };
  }
}

/** Withdraws a retained topic. */
export const clear = (topic: string): Message => ({ topic, payload: '', retain: true });

/**
 * The topics that are retained; events, requests and responses pass. A `list` is long, and no entity of Home Assistant reads it. The
 * schemas in payloads.ts are not loaded by the program.
 */
const RETAINED = {
  'bridge/state': 'state',
  'bridge/process/<number>/state': 'state',
  'bridge/info': 'state',
  'bridge/health': 'state',
  'bridge/constituencies': 'state',
  'meter/<meter>/state': 'state',
  'meter/<meter>/usage/<interval>': 'list',
  'meter/<meter>/history': 'list',
  'meter/<meter>/statement': 'list',
  'account/<account>/state': 'state',
  'account/<account>/invoices': 'list',
  'constituencies/<chamber>/<house_no>': 'list',
} satisfies Partial<Record<TopicName, 'state' | 'list'>>;

export const isRetained = (template: TopicName): boolean => template in RETAINED;

const SHAPES = Object.entries(RETAINED).map(([template, kind]) => ({
  shape: new RegExp(`^${template.replaceAll(/<\w+>/g, '[^/]+')}$`),
  kind,
}));

/** Filters that let through all that may be ours. `prefix`: of the discovery. */
export const filtersOf = (topics: Topics, prefix: string | false): string[] => [
  `${topics.base}/#`,
  ...(prefix === false ? [] : [`${prefix}/device/+/config`]),
];

/** One of the topics below its base topic, or a discovery document whose availability is that of its bridge. */
export function isOurs(topics: Topics, { topic, payload }: Pick<Incoming, 'topic' | 'payload'>): boolean {
  if (isDiscovery(topic)) return availabilityIn(payload) === topics.of('bridge/state');
  return kindOf(topics, topic) !== undefined;
}

export const isLongList = (topics: Topics, topic: string): boolean => kindOf(topics, topic) === 'list';

function kindOf({ base }: Topics, topic: string): 'state' | 'list' | undefined {
  if (!topic.startsWith(`${base}/`)) return undefined;
  const below = topic.slice(base.length + 1);
  return SHAPES.find(({ shape }) => shape.test(below))?.kind;
}

export const isDiscovery = (topic: string): boolean => /\/device\/[^/]+\/config$/.test(topic);

function availabilityIn(payload: Buffer): unknown {
  try {
    return Object(JSON.parse(payload.toString('utf8'))).availability_topic;
  } catch {
    // Other programs publish there too.
    return undefined;
  }
}

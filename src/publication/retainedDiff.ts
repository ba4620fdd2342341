// The retained topics that one reader has: a broker, a page, or the row of an account. It tells which messages bring the reader up to
// date, and which topics are to be withdrawn. Of thousands of meters the payloads would fill the memory: digests are kept.
import { createHash } from 'node:crypto';
import type { Message } from '../mqtt/message.ts';
import { announce, type DiscoveryDocument, platformsOf } from './discovery.ts';
import { clear, isDiscovery, type WrittenTopic } from './topics.ts';

/** One retained topic as it stands now: a message, a device of Home Assistant, or something that is written when it is asked for. */
export type Retained = Message | DiscoveryDocument | WrittenTopic;

/** The announcements of a discovery document: component key to platform. */
type Components = Readonly<Record<string, string>>;

export interface KeptTopics {
  /** Digests by topic; empty where only the topic is remembered. */
  readonly topics: Readonly<Record<string, string>>;
  /** The keys are discovery topics. */
  readonly components: Readonly<Record<string, Components>>;
}

/** What the reader may have of a topic. */
interface ReaderTopic {
  /** Undefined: it has to be told again. */
  digest?: string | undefined;
  sources?: readonly unknown[] | undefined;
  /** The components of a device: as they were sent last, and as the reader has them. */
  announced?: Components;
  delivered?: Components | undefined;
}

export class RetainedDiff {
  /** Topics that the reader may have. They stay until their clearing is delivered. */
  readonly #topics = new Map<string, ReaderTopic>();
  /** The keys are owners: an account, or the bridge. */
  readonly #current = new Map<string, readonly string[]>();
  readonly #onChange: () => void;
  /** They are computed once: that takes a look at every topic. */
  #gone: readonly string[] | null = null;

  /** `onChange` is called when what `kept()` gives has changed, digests apart. */
  constructor(stored: KeptTopics | null = null, onChange: () => void = () => undefined) {
    for (const [topic, digest] of Object.entries(stored?.topics ?? {}))
      this.#topics.set(topic, { digest: digest || undefined, delivered: stored?.components[topic] });
    this.#onChange = onChange;
  }

  /** The number of owners that have told what they retain. */
  get owners(): number {
    return this.#current.size;
  }

  /**
   * `retained`: everything of the owner. The messages of what differs from what was sent last; they count as sent.
   * `areSourcesSame`: what was sent was written from the same sources, though they are other objects by now.
   */
  take(owner: string, retained: readonly Retained[], areSourcesSame = false): Message[] {
    const topics = retained.map(({ topic }) => topic);
    if (this.#current.get(owner)?.join() !== topics.join()) {
      this.#current.set(owner, topics);
      this.#gone = null;
      const before = this.#topics.size;
      for (const topic of topics) this.#topicOf(topic);
      if (this.#topics.size !== before) this.#onChange();
    }
    return retained.flatMap((document) => this.#news(document, areSourcesSame));
  }

  /** Clears the topics that no owner has any more. To be asked for once every owner is complete. */
  gone(): Message[] {
    if (this.#gone === null) {
      const current = new Set([...this.#current.values()].flat());
      this.#gone = [...this.#topics.keys()].filter((topic) => !current.has(topic));
    }
    return this.#gone.flatMap((topic) => this.#unlessSent(clear(topic)));
  }

  /** The reader has to be told these topics again, whether they have changed or not. */
  forget(isForgotten: (topic: string) => boolean = () => true): void {
    for (const [topic, known] of this.#topics) if (isForgotten(topic)) known.digest = undefined;
  }

  /** The reader has the message for certain. */
  delivered({ topic, payload, retain, step }: Message): void {
    // One that has come back since is not withdrawn.
    const isCleared =
      retain && payload === '' && ![...this.#current.values()].some((topics) => topics.includes(topic));
    if (isCleared && this.#topics.delete(topic)) {
      this.#gone = null;
      this.#onChange();
    }
    const known = this.#topics.get(topic);
    if (step || !known?.announced || isSame(known.announced, known.delivered)) return;
    known.delivered = known.announced;
    this.#onChange();
  }

  kept(): KeptTopics {
    const known = [...this.#topics];
    return {
      topics: Object.fromEntries(known.map(([topic, { digest = '' }]) => [topic, digest])),
      components: Object.fromEntries(
        known.flatMap(([topic, { delivered }]) => (delivered ? [[topic, delivered]] : [])),
      ),
    };
  }

  #topicOf(topic: string): ReaderTopic {
    const known = this.#topics.get(topic) ?? {};
    this.#topics.set(topic, known);
    return known;
  }

  #news(document: Retained, areSourcesSame: boolean): Message[] {
    if ('payload' in document) return this.#unlessSent(document);
    const known = this.#topicOf(document.topic);
    if ('stamp' in document) {
      if (!this.#noteSent(document.topic, document.stamp)) return [];
      known.announced = platformsOf(document);
      return announce(document, known.delivered);
    }
    const { write, sources } = document;
    const isSameSource = (source: unknown, at: number) => source === known.sources?.[at];
    const isUnchanged = areSourcesSame || (known.sources && sources?.every(isSameSource));
    if (sources && known.digest !== undefined && isUnchanged) return [];
    return this.#unlessSent(write(), sources);
  }

  #unlessSent(message: Message, sources?: readonly unknown[]): Message[] {
    return this.#noteSent(message.topic, message.payload, sources) ? [message] : [];
  }

  /** It counts as sent from now on. Tells whether it is anything new. */
  #noteSent(topic: string, text: string, sources?: readonly unknown[]): boolean {
    const known = this.#topicOf(topic);
    const before = known.digest;
    known.digest = createHash('sha1').update(text).digest('base64');
    known.sources = sources;
    return known.digest !== before;
  }
}

/** Clears everything that was kept: devices first, without them nothing misses the states. */
export const withdrawAll = (stored: KeptTopics | null): Message[] =>
  Object.keys(stored?.topics ?? {})
    .sort((one, other) => Number(isDiscovery(other)) - Number(isDiscovery(one)))
    .map(clear);

const isSame = (one: Components, other: Components | undefined): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other);

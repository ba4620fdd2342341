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

interface Sent {
  readonly digest: string;
  readonly sources?: readonly unknown[] | undefined;
}

export class RetainedDiff {
  /** Topics that the reader may have. They stay until their clearing is delivered. */
  readonly #topics: Set<string>;
  /** The keys are topics. */
  readonly #sent = new Map<string, Sent>();
  /** The keys are owners: an account, or the bridge. */
  readonly #current = new Map<string, readonly string[]>();
  /** The keys are discovery topics: as the reader has them, and as they were sent last. */
  readonly #delivered: Map<string, Components>;
  readonly #announced = new Map<string, Components>();
  readonly #onChange: () => void;
  /** They are computed once: that takes a look at every topic. */
  #gone: readonly string[] | null = null;

  /** `onChange` is called when what `kept()` gives has changed, digests apart. */
  constructor(stored: KeptTopics | null = null, onChange: () => void = () => undefined) {
    this.#topics = new Set(Object.keys(stored?.topics ?? {}));
    for (const [topic, digest] of Object.entries(stored?.topics ?? {}))
      if (digest !== '') this.#sent.set(topic, { digest });
    this.#delivered = new Map(Object.entries(stored?.components ?? {}));
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
      for (const topic of topics) this.#topics.add(topic);
      if (this.#topics.size !== before) this.#onChange();
    }
    return retained.flatMap((document) => this.#news(document, areSourcesSame));
  }

  /** Clears the topics that no owner has any more. To be asked for once every owner is complete. */
  gone(): Message[] {
    if (this.#gone === null) {
      const current = new Set([...this.#current.values()].flat());
      this.#gone = [...this.#topics].filter((topic) => !current.has(topic));
    }
    return this.#gone.flatMap((topic) => this.#unlessSent(clear(topic)));
  }

  /** The reader has to be told these topics again, whether they have changed or not. */
  forget(isForgotten: (topic: string) => boolean = () => true): void {
    for (const topic of this.#sent.keys()) if (isForgotten(topic)) this.#sent.delete(topic);
  }

  /** The reader has the message for certain. */
  delivered({ topic, payload, retain, step }: Message): void {
    // One that has come back since is not withdrawn.
    const isCleared =
      retain && payload === '' && ![...this.#current.values()].some((topics) => topics.includes(topic));
    if (isCleared && this.#topics.delete(topic)) {
      this.#sent.delete(topic);
      this.#delivered.delete(topic);
      this.#announced.delete(topic);
      this.#gone = null;
      this.#onChange();
    }
    const components = this.#announced.get(topic);
    if (step || components === undefined || isSame(components, this.#delivered.get(topic))) return;
    this.#delivered.set(topic, components);
    this.#onChange();
  }

  kept(): KeptTopics {
    return {
      topics: Object.fromEntries(
        [...this.#topics].map((topic) => [topic, this.#sent.get(topic)?.digest ?? '']),
      ),
      components: Object.fromEntries(this.#delivered),
    };
  }

  #news(document: Retained, areSourcesSame: boolean): Message[] {
    const { topic } = document;
    if ('payload' in document) return this.#unlessSent(document);
    if ('stamp' in document) {
      if (!this.#isNew(topic, document.stamp)) return [];
      this.#announced.set(topic, platformsOf(document));
      return announce(document, this.#delivered.get(topic));
    }
    const { write, sources } = document;
    const sent = this.#sent.get(topic);
    const isSameSource = (source: unknown, at: number) => source === sent?.sources?.[at];
    if (sources && sent && (areSourcesSame || (sent.sources && sources.every(isSameSource)))) return [];
    return this.#unlessSent(write(), sources);
  }

  #unlessSent(message: Message, sources?: readonly unknown[]): Message[] {
    return this.#isNew(message.topic, message.payload, sources) ? [message] : [];
  }

  /** It counts as sent from now on. */
  #isNew(topic: string, text: string, sources?: readonly unknown[]): boolean {
    const digest = createHash('sha1').update(text).digest('base64');
    const isNew = this.#sent.get(topic)?.digest !== digest;
    this.#sent.set(topic, { digest, sources });
    return isNew;
  }
}

/** Clears everything that was kept: devices first, without them nothing misses the states. */
export const withdrawAll = (stored: KeptTopics | null): Message[] =>
  Object.keys(stored?.topics ?? {})
    .sort((one, other) => Number(isDiscovery(other)) - Number(isDiscovery(one)))
    .map(clear);

const isSame = (one: Components, other: Components | undefined): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other);

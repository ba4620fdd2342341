// The topics that this bridge has left retained on the broker, remembered on disk, so that they can be cleared later.
import type { Clock } from '../../foundation/clock.ts';
import type { Log } from '../../foundation/log.ts';
import type { Message } from '../../mqtt/message.ts';
import { type DiscoveryDocument, platformsOf } from '../../publication/discovery.ts';
import { Autosave } from '../../store/autosave.ts';
import { announcedCodec } from '../../store/documents.ts';
import type { Document } from '../../store/stateStore.ts';
import type { Context } from '../context.ts';

/** Of a discovery document: component key to platform. */
type Components = Readonly<Record<string, string>>;

interface Stored {
  topics: string[];
  components: Record<string, Components>;
}

export class RetainedTopics {
  readonly #log: Log;
  readonly #autosave: Autosave;
  readonly #topics: Set<string>;
  /** By discovery topic, as the broker has them. */
  readonly #delivered: Map<string, Components>;
  /** By discovery topic, as they were composed last. */
  readonly #composed = new Map<string, Components>();
  /** By owner: an account, or '' for the bridge. */
  readonly #current = new Map<string, readonly string[]>();
  /** Looking for them means looking at every topic there is. */
  #gone: readonly string[] | null = null;

  static async open({ state, clock, log }: Context): Promise<RetainedTopics> {
    const document = state.document('announced', announcedCodec);
    return new RetainedTopics(document, await document.read(), clock, log);
  }

  private constructor(document: Document<Stored>, stored: Stored | null, clock: Clock, log: Log) {
    this.#topics = new Set(stored?.topics);
    this.#delivered = new Map(Object.entries(stored?.components ?? {}));
    this.#log = log;
    const write = () =>
      document
        .write({ topics: [...this.#topics], components: Object.fromEntries(this.#delivered) })
        .catch((err) => log.error({ err }, 'the list of retained topics could not be saved'));
    this.#autosave = new Autosave(write, clock);
  }

  /** Component key to platform, as the broker has them. */
  componentsOf(topic: string): Components {
    return this.#delivered.get(topic) ?? {};
  }

  /** Replaces what one owner has retained. */
  set(owner: string, messages: readonly Message[], documents: readonly DiscoveryDocument[]): void {
    const own = [...new Set(messages.map(({ topic }) => topic))];
    if (this.#current.get(owner)?.join() !== own.join()) this.#gone = null;
    this.#current.set(owner, own);
    for (const document of documents) this.#composed.set(document.topic, platformsOf(document));
    const before = this.#topics.size;
    for (const topic of own) this.#topics.add(topic);
    if (this.#topics.size !== before) this.#autosave.changed();
  }

  /** Topics that are on the broker and should not be. They stay in this list until their clearing is delivered. */
  gone(): readonly string[] {
    if (this.#gone === null) {
      const current = new Set([...this.#current.values()].flat());
      this.#gone = [...this.#topics].filter((topic) => !current.has(topic));
    }
    return this.#gone;
  }

  /** To be called with each message that the broker has acknowledged. */
  delivered({ topic, payload, retain, step }: Message): void {
    if (retain && payload === '' && this.#topics.delete(topic)) {
      this.#delivered.delete(topic);
      this.#composed.delete(topic);
      this.#gone = null;
      this.#log.info({ topic }, 'cleared');
      this.#autosave.changed();
    }
    const components = this.#composed.get(topic);
    if (step || components === undefined || isSame(components, this.#delivered.get(topic))) return;
    this.#delivered.set(topic, components);
    this.#autosave.changed();
  }

  /** Resolves once everything is on disk, or could not be written. */
  saved(): Promise<void> {
    return this.#autosave.saved();
  }
}

const isSame = (one: Components, other: Components | undefined): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other);

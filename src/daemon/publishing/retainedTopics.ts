// The topics that this bridge has left retained on the broker, remembered on disk, so that they can be cleared later.
import type { Message } from '../../mqtt/message.ts';
import { type DiscoveryDocument, platformsOf } from '../../publication/discovery.ts';
import { announcedCodec } from '../../store/documents.ts';
import type { Context } from '../context.ts';
import { Autosave } from './autosave.ts';

/** Of a discovery document: component key to platform. */
type Components = Readonly<Record<string, string>>;

export class RetainedTopics {
  readonly #log: Context['log'];
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

  static async open(context: Pick<Context, 'state' | 'clock' | 'log'>): Promise<RetainedTopics> {
    const document = context.state.document('announced', announcedCodec);
    const { topics = [], components = {} } = (await document.read()) ?? {};
    return new RetainedTopics(topics, components, context, (value) =>
      document
        .write(value)
        .catch((err) => context.log.error({ err }, 'the list of retained topics could not be saved')),
    );
  }

  private constructor(
    topics: readonly string[],
    components: Readonly<Record<string, Components>>,
    { clock, log }: Pick<Context, 'clock' | 'log'>,
    write: (value: { topics: string[]; components: Record<string, Components> }) => Promise<void>,
  ) {
    this.#topics = new Set(topics);
    this.#delivered = new Map(Object.entries(components));
    this.#log = log;
    this.#autosave = new Autosave(
      () => write({ topics: [...this.#topics], components: Object.fromEntries(this.#delivered) }),
      clock,
    );
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

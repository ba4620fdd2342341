// The messages to the broker and their times: everything on connect, discovery and states when Home Assistant starts, else what has changed.
import type { Account } from '../../accounts/account.ts';
import { eventsOfStates, remembered } from '../../accounts/events.ts';
import { pageAddress } from '../../config/pageAddress.ts';
import type { Constituencies } from '../../constituencies/onDemand.ts';
import { isClockSet } from '../../foundation/clock.ts';
import { Throttle } from '../../foundation/limits.ts';
import type { Message } from '../../mqtt/message.ts';
import { bridgeDocument, type DiscoveryOptions } from '../../publication/discovery.ts';
import { homeLanguage } from '../../publication/language.ts';
import { composeAccount, infoMessage, stateMessage } from '../../publication/messages.ts';
import { type Retained, RetainedDiff } from '../../publication/retainedDiff.ts';
import { isDiscovery, isLongList } from '../../publication/topics.ts';
import { type Autosave, autosave } from '../../store/autosave.ts';
import { announcedCodec } from '../../store/documents.ts';
import type { Context } from '../context.ts';
import type { BridgeStatus } from './bridgeStatus.ts';

/** The owner of the bridge's topics; the others are accounts, whose ids are never empty. */
export const BRIDGE = '';

// Some milliseconds of work, so that nothing else waits long.
const ACCOUNTS_AT_ONCE = 20;
// No more are on their way to the broker at once: what else has changed is composed when it has taken these.
const MOST_WAITING = 500;

export class Publisher {
  readonly #context: Context;
  readonly #bridgeStatus: BridgeStatus;
  readonly #retainedOf: ReturnType<typeof composer>;
  readonly #byId: ReadonlyMap<string, Account>;
  /** The broker has this, as far as we know. */
  readonly #broker: RetainedDiff;
  readonly #announced: Autosave;
  /** Owners whose topics may have changed since they were composed. */
  readonly #changed = new Set<string>();
  #isPlanned = false;
  #isResting = false;
  // The bridge's own documents grow with the accounts.
  readonly #bridgeThrottle: Throttle;

  /** Topics are remembered on disk, so that they can be cleared later. */
  static async open(
    bridgeStatus: BridgeStatus,
    constituencies: Constituencies | null,
    context: Context,
  ): Promise<Publisher> {
    const announced = context.state.document('announced', announcedCodec);
    const stored = await announced.read();
    // The broker may have lost any of them since: all are sent once.
    const announcedBefore = stored && {
      ...stored,
      topics: Object.fromEntries(stored.topics.map((topic) => [topic, ''])),
    };
    const saving = autosave(() => {
      const { topics, components } = broker.kept();
      return announced.write({ topics: Object.keys(topics), components: { ...components } });
    }, context.clock);
    const broker = new RetainedDiff(announcedBefore, () => saving.changed());
    return new Publisher({ bridgeStatus, constituencies }, broker, saving, context);
  }

  private constructor(parts: Composed, broker: RetainedDiff, announced: Autosave, context: Context) {
    const { accounts, clock, signals } = context;
    this.#context = context;
    this.#bridgeStatus = parts.bridgeStatus;
    this.#retainedOf = composer(parts, discoveryOf(parts.constituencies !== null, context), context);
    this.#byId = new Map(accounts.map((account) => [account.id, account]));
    this.#bridgeThrottle = new Throttle(clock);
    this.#announced = announced;
    this.#broker = broker;
    signals.on('accountChanged', (account) => this.#note(account, BRIDGE));
    signals.on('bridgeChanged', () => this.#note(BRIDGE));
  }

  publishBridgeNow(): void {
    this.#publish([BRIDGE]);
  }

  /** The messages of a broker that has restarted: everything, whether it has changed or not. */
  everything(): readonly Message[] {
    return this.#republish();
  }

  /** The messages of a Home Assistant that has restarted: discovery and states. No entity reads the long lists. */
  forHomeAssistant(): readonly Message[] {
    const { topics } = this.#context;
    return this.#republish((topic) => !isLongList(topics, topic));
  }

  /** The broker has acknowledged the message. */
  delivered(message: Message): void {
    if (message.retain && message.payload === '') this.#context.log.info({ topic: message.topic }, 'cleared');
    this.#broker.delivered(message);
    this.#goOn();
  }

  /** Resolves once the topics are on disk, or could not be written. */
  saved(): Promise<void> {
    return this.#announced.saved();
  }

  #note(...owners: readonly string[]): void {
    for (const owner of owners) this.#changed.add(owner);
    this.#goOn();
  }

  /** Several changes of one moment are one publication. */
  #goOn(): void {
    const isBridgeLeft = this.#changed.size === 1 && this.#changed.has(BRIDGE);
    if (this.#changed.size === 0 || this.#isPlanned || (isBridgeLeft && this.#isResting)) return;
    const restMs = isBridgeLeft ? this.#bridgeThrottle.restMs() : 0;
    if (restMs > 0) {
      this.#isResting = true;
      this.#context.clock.after(restMs, () => {
        this.#isResting = false;
        this.#goOn();
      });
      return;
    }
    this.#isPlanned = true;
    setImmediate(() => this.#publishSome());
  }

  #publishSome(): void {
    this.#isPlanned = false;
    if (this.#context.link.status().waiting >= MOST_WAITING) return;
    const owners = this.#takeAccounts();
    const isBridgesTurn = this.#changed.size === 1 && this.#bridgeThrottle.restMs() <= 0;
    if (isBridgesTurn && this.#changed.delete(BRIDGE)) this.#publish([BRIDGE, ...owners]);
    else this.#publish(owners);
    this.#goOn();
  }

  #takeAccounts(): readonly string[] {
    const owners = [...this.#changed].filter((owner) => owner !== BRIDGE).slice(0, ACCOUNTS_AT_ONCE);
    for (const owner of owners) this.#changed.delete(owner);
    // In 1970 no day is of this month. The first poll of a clock that is set brings them up to date.
    return isClockSet(this.#context.clock.now()) ? owners : [];
  }

  #publish(owners: readonly string[]): void {
    const { link } = this.#context;
    // The first connection begins with everything; what was composed before could be older than the restored history.
    if (!link.status().hasConnected) return;
    link.publish([...this.#compose(owners), ...this.#eventsOf(owners)]);
  }

  #eventsOf(owners: readonly string[]): Message[] {
    return owners
      .flatMap((owner) => this.#byId.get(owner) ?? [])
      .flatMap((account) =>
        remembered(account, eventsOfStates(account, account.meterViews(), this.#context)),
      );
  }

  /** Retained messages that differ from what was sent last: online, discovery, states, then the clearing of what is gone. */
  #compose(owners: readonly string[]): Message[] {
    const stateTopic = this.#context.topics.of('bridge/state');
    const news = owners.flatMap((owner) => (owner === BRIDGE ? this.#bridgeNews() : this.#newsOf(owner)));
    const comesFirst = ({ topic }: Message) => isDiscovery(topic) || topic === stateTopic;
    const isWhole = this.#broker.owners === this.#byId.size + 1;
    const isComplete = owners.includes(BRIDGE) && isWhole && this.#bridgeStatus.isComplete();
    return [
      ...news.filter(comesFirst),
      ...news.filter((message) => !comesFirst(message)),
      ...(isComplete ? this.#broker.gone() : []),
    ];
  }

  #newsOf(owner: string): Message[] {
    return this.#broker.take(owner, this.#retainedOf(owner));
  }

  /** Its own work is measured: an account that takes long to compose is no reason to hold health back. */
  #bridgeNews(): Message[] {
    const end = this.#bridgeThrottle.begin();
    const news = this.#newsOf(BRIDGE);
    end();
    return news;
  }

  /** The answer holds the messages of the first accounts; those of the others follow. */
  #republish(isForgotten?: (topic: string) => boolean): readonly Message[] {
    this.#broker.forget(isForgotten);
    for (const account of this.#byId.keys()) this.#changed.add(account);
    const first = this.#takeAccounts();
    // Changes are news from here on.
    this.#context.link.publish(this.#eventsOf(first));
    this.#changed.delete(BRIDGE);
    if (this.#changed.size > 0) this.#note(BRIDGE);
    return this.#compose([BRIDGE, ...first]);
  }
}

/** `null` where no device is announced. */
function discoveryOf(
  constituencies: boolean,
  { accounts, config, topics }: Context,
): DiscoveryOptions | null {
  const { discovery_prefix: prefix } = config.mqtt;
  if (prefix === false) return null;
  return {
    prefix,
    topics,
    page: pageAddress(config),
    accounts: accounts.length > 0,
    constituencies,
    language: homeLanguage(config.language),
  };
}

interface Composed {
  readonly bridgeStatus: BridgeStatus;
  readonly constituencies: Constituencies | null;
}

/** Composes everything that an owner retains, as things stand now. `discovery`: `null` where no device is announced. */
export function composer(
  { bridgeStatus, constituencies }: Composed,
  discovery: DiscoveryOptions | null,
  { accounts, topics }: Pick<Context, 'accounts' | 'topics'>,
) {
  const byId = new Map(accounts.map((account) => [account.id, account]));
  return (owner: string): Retained[] => {
    const account = byId.get(owner);
    if (account) return composeAccount(account.view(), account.meterViews(), { topics, discovery });
    return [
      stateMessage(topics, 'online'),
      ...(discovery ? [bridgeDocument(discovery)] : []),
      infoMessage(topics, bridgeStatus.bridge()),
      topics.message('bridge/health', [], bridgeStatus.health()),
      ...(constituencies?.messages() ?? []),
    ];
  };
}

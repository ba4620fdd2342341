// What goes to the broker and when: everything on connect, discovery and states when Home Assistant starts, else what has changed.
import type { Account } from '../../accounts/account.ts';
import { composeAccount } from '../../accounts/composition.ts';
import { eventsOfStates, noteUse } from '../../accounts/events.ts';
import { accountView, meterViews } from '../../accounts/views.ts';
import { pageAddress } from '../../config/pageAddress.ts';
import type { Constituencies } from '../../constituencies/onDemand.ts';
import { Throttle } from '../../foundation/limits.ts';
import type { Link } from '../../mqtt/link.ts';
import type { Message } from '../../mqtt/message.ts';
import type { DiscoveryOptions } from '../../publication/discovery.ts';
import { isDiscovery } from '../../publication/ownership.ts';
import { RetainedDiff } from '../../publication/retainedDiff.ts';
import { Autosave } from '../../store/autosave.ts';
import { announcedCodec } from '../../store/documents.ts';
import type { Context } from '../context.ts';
import { BRIDGE, composeBridge } from './bridge.ts';
import type { BridgeStatus } from './bridgeStatus.ts';

interface Parts {
  readonly accounts: readonly Account[];
  readonly bridgeStatus: BridgeStatus;
  readonly constituencies: Constituencies | null;
  readonly link: Link;
}

// Some milliseconds of work, so that nothing else waits long.
const ACCOUNTS_AT_ONCE = 20;
// On their way to the broker: what else has changed is composed once it has taken these.
const MOST_WAITING = 500;
/** After the base topic. */
const LONG_LIST = /^meter\/[^/]+\/(history|usage\/.+)$|^account\/[^/]+\/invoices$|^constituencies\//;

export class Publisher {
  readonly #parts: Parts;
  readonly #context: Context;
  readonly #accounts: ReadonlyMap<string, Account>;
  readonly #discovery: DiscoveryOptions | null;
  /** Accounts that may have changed since they were composed. */
  readonly #changed = new Set<string>();
  #bridgeChanged = false;
  /** What the bridge tells of itself grows with the accounts. */
  readonly #bridgeThrottle: Throttle;
  #isResting = false;
  #isPlanned = false;
  readonly #retained: RetainedDiff;
  /** Its topics are remembered on disk, so that they can be cleared later. */
  readonly #autosave: Autosave;

  static async open(parts: Parts, context: Context): Promise<Publisher> {
    const stored = await context.state.document('announced', announcedCodec).read();
    return new Publisher(parts, stored, context);
  }

  private constructor(
    parts: Parts,
    stored: ReturnType<typeof announcedCodec.decode> | null,
    context: Context,
  ) {
    const { config, topics, clock, signals, state, log } = context;
    const { discovery_prefix: prefix } = config.mqtt;
    this.#parts = parts;
    this.#context = context;
    this.#accounts = new Map(parts.accounts.map((account) => [account.id, account]));
    this.#bridgeThrottle = new Throttle(clock);
    const accounts = this.#accounts.size > 0;
    const constituencies = parts.constituencies !== null;
    const page = pageAddress(config);
    this.#discovery = prefix === false ? null : { prefix, topics, page, accounts, constituencies };
    const document = state.document('announced', announcedCodec);
    this.#autosave = new Autosave(async () => {
      const { topics: kept, components } = this.#retained.kept();
      await document
        .write({ topics: Object.keys(kept), components: { ...components } })
        .catch((err) => log.error({ err }, 'the list of retained topics could not be saved'));
    }, clock);
    // The broker may have lost any of them since: all are sent once.
    const kept = stored && {
      topics: Object.fromEntries(stored.topics.map((topic) => [topic, ''])),
      components: stored.components,
    };
    this.#retained = new RetainedDiff(kept, () => this.#autosave.changed());
    signals.on('accountChanged', (account) => {
      this.#changed.add(account);
      this.publishBridge();
    });
    signals.on('bridgeChanged', () => this.publishBridge());
  }

  /** Something on the topics of the bridge may have changed. */
  publishBridge(): void {
    this.#bridgeChanged = true;
    this.#plan();
  }

  publishBridgeNow(): void {
    this.#publish([], true);
  }

  /**
   * The messages of a broker that starts anew: everything, whether it has changed or not. With many accounts these are the
   * first, and the others follow.
   */
  everything(): readonly Message[] {
    this.#retained.forget();
    return this.#republish();
  }

  /** The messages of a Home Assistant that starts anew: discovery and states. No entity reads the long lists. */
  forHomeAssistant(): readonly Message[] {
    const start = this.#context.topics.base.length + 1;
    this.#retained.forget((topic) => !LONG_LIST.test(topic.slice(start)));
    return this.#republish();
  }

  #republish(): readonly Message[] {
    for (const account of this.#accounts.keys()) this.#changed.add(account);
    const first = this.#takeSome();
    this.#bridgeChanged = this.#changed.size > 0;
    if (this.#bridgeChanged) this.#plan();
    return this.#compose(first, true);
  }

  /** To be called with each message that the broker has acknowledged. */
  delivered(message: Message): void {
    if (message.retain && message.payload === '') this.#context.log.info({ topic: message.topic }, 'cleared');
    this.#retained.delivered(message);
    if (this.#changed.size > 0 || (this.#bridgeChanged && !this.#isResting)) this.#plan();
  }

  /** Resolves once the topics are on disk, or could not be written. */
  saved(): Promise<void> {
    return this.#autosave.saved();
  }

  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    // Several changes of one moment are one publication.
    setImmediate(() => this.#publishSome());
  }

  #publishSome(): void {
    this.#isPlanned = false;
    if (this.#parts.link.status().waiting >= MOST_WAITING) return;
    const some = this.#takeSome();
    const restMs = this.#bridgeThrottle.restMs();
    const withBridge = this.#bridgeChanged && this.#changed.size === 0 && restMs <= 0;
    if (withBridge) this.#bridgeChanged = false;
    const end = withBridge ? this.#bridgeThrottle.begin() : null;
    if (some.length > 0 || withBridge) this.#publish(some, withBridge);
    end?.();
    if (this.#changed.size > 0) this.#plan();
    else if (this.#bridgeChanged) void this.#planAfter(restMs);
  }

  async #planAfter(ms: number): Promise<void> {
    if (this.#isResting) return;
    this.#isResting = true;
    await this.#context.clock.sleep(ms);
    this.#isResting = false;
    this.#plan();
  }

  #takeSome(): readonly Account[] {
    const some = [...this.#changed].slice(0, ACCOUNTS_AT_ONCE);
    for (const account of some) this.#changed.delete(account);
    return some.flatMap((id) => this.#accounts.get(id) ?? []);
  }

  #publish(accounts: readonly Account[], withBridge: boolean): void {
    const { link } = this.#parts;
    // The first connection begins with everything; what was composed before could be older than the restored history.
    if (!link.status().hasConnected) return;
    link.publish([
      ...this.#compose(accounts, withBridge),
      ...accounts.flatMap((account) => eventsOfStates(account, meterViews(account), this.#context)),
    ]);
  }

  /** Retained messages that differ from what was sent last: online, discovery, states, then the clearing of what is gone. */
  #compose(accounts: readonly Account[], withBridge: boolean): Message[] {
    const { bridgeStatus, constituencies } = this.#parts;
    const { topics } = this.#context;
    const options = { topics, discovery: this.#discovery };
    const news = [
      ...(withBridge
        ? this.#retained.take(BRIDGE, composeBridge({ bridgeStatus, constituencies, ...options }))
        : []),
      ...accounts.flatMap((account) => {
        const meters = meterViews(account);
        noteUse(account, meters);
        return this.#retained.take(
          account.id,
          composeAccount(accountView(account, this.#context), meters, options),
        );
      }),
    ];
    const comesFirst = ({ topic }: Message) => isDiscovery(topic) || topic === topics.of('bridge/state');
    const isWhole = this.#retained.owners === this.#accounts.size + 1;
    return [
      ...news.filter(comesFirst),
      ...news.filter((message) => !comesFirst(message)),
      ...(withBridge && isWhole && bridgeStatus.isComplete() ? this.#retained.gone() : []),
    ];
  }
}

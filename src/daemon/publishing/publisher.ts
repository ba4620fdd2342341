// The messages to the broker and their times: everything on connect, discovery and states when Home Assistant starts, else what has changed. And
// what the broker gives back once: histories of ledgers that are new or lost.

import type { Account } from '../../accounts/account.ts';
import { accountView, meterViews } from '../../accounts/composition.ts';
import { eventsOfStates, remembered } from '../../accounts/events.ts';
import type { Meter } from '../../accounts/meter.ts';
import { pageAddress } from '../../config/listenAddress.ts';
import type { Constituencies } from '../../constituencies/onDemand.ts';
import { type RetainedHistory, readRetainedHistory } from '../../domain/recovery.ts';
import { Throttle } from '../../foundation/limits.ts';
import type { Log } from '../../foundation/log.ts';
import type { Link } from '../../mqtt/link.ts';
import type { Incoming, Message } from '../../mqtt/message.ts';
import type { ReadRetained } from '../../mqtt/retained.ts';
import { bridgeDocument, type DiscoveryOptions } from '../../publication/discovery.ts';
import { homeLanguage } from '../../publication/language.ts';
import { composeAccount, infoMessage, stateMessage } from '../../publication/messages.ts';
import { type Retained, RetainedDiff } from '../../publication/retainedDiff.ts';
import { retainedHistory } from '../../publication/subscriptions.ts';
import { isDiscovery, type Topics } from '../../publication/topics.ts';
import { autosave } from '../../store/autosave.ts';
import { announcedCodec } from '../../store/documents.ts';
import type { Document } from '../../store/stateStore.ts';
import type { Context } from '../context.ts';
import type { BridgeStatus } from './bridgeStatus.ts';

// Some milliseconds of work, so that nothing else waits long.
const ACCOUNTS_AT_ONCE = 20;
// On their way to the broker: what else has changed is composed once it has taken these.
const MOST_WAITING = 500;
/** After the base topic. */
const LONG_LIST =
  /^meter\/[^/]+\/(history|statement|usage\/.+)$|^account\/[^/]+\/invoices$|^constituencies\//;

type Announced = ReturnType<typeof announcedCodec.decode>;

export class Publisher {
  readonly #context: Context;
  readonly #bridgeStatus: BridgeStatus;
  readonly #retainedOf: ReturnType<typeof composer>;
  readonly #byId: ReadonlyMap<string, Account>;
  readonly #retained: RetainedDiff;
  readonly #announced: ReturnType<typeof autosave>;
  /** Accounts that may have changed since they were composed. */
  readonly #changed = new Set<string>();
  #isBridgeChanged = false;
  #isPlanned = false;
  #isResting = false;
  // The bridge's own documents grow with the accounts.
  readonly #bridgeThrottle: Throttle;

  static async open(
    bridgeStatus: BridgeStatus,
    constituencies: Constituencies | null,
    context: Context,
  ): Promise<Publisher> {
    const document = context.state.document('announced', announcedCodec);
    return new Publisher({ bridgeStatus, constituencies }, document, await document.read(), context);
  }

  /** `announced`: topics are remembered on disk, so that they can be cleared later. */
  private constructor(
    { bridgeStatus, constituencies }: Omit<Composed, 'discovery'>,
    announced: Document<Announced>,
    stored: Announced | null,
    context: Context,
  ) {
    const { accounts, clock, signals } = context;
    this.#context = context;
    this.#bridgeStatus = bridgeStatus;
    const discovery = discoveryOf(constituencies !== null, context);
    this.#retainedOf = composer({ bridgeStatus, constituencies, discovery }, context);
    this.#byId = new Map(accounts.map((account) => [account.id, account]));
    this.#bridgeThrottle = new Throttle(clock);
    this.#announced = autosave(() => {
      const { topics, components } = this.#retained.kept();
      return announced.write({ topics: Object.keys(topics), components: { ...components } });
    }, clock);
    // The broker may have lost any of them since: all are sent once.
    const kept = stored && {
      topics: Object.fromEntries(stored.topics.map((topic) => [topic, ''])),
      components: stored.components,
    };
    this.#retained = new RetainedDiff(kept, () => this.#announced.changed());
    signals.on('accountChanged', (account) => {
      this.#changed.add(account);
      this.#publishBridge();
    });
    signals.on('bridgeChanged', () => this.#publishBridge());
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
    const { base } = this.#context.topics;
    return this.#republish((topic) => !LONG_LIST.test(topic.slice(base.length + 1)));
  }

  /** To be called with each message that the broker has acknowledged. */
  delivered(message: Message): void {
    if (message.retain && message.payload === '') this.#context.log.info({ topic: message.topic }, 'cleared');
    this.#retained.delivered(message);
    if (this.#changed.size > 0 || (this.#isBridgeChanged && !this.#isResting)) this.#plan();
  }

  /** Resolves once the topics are on disk, or could not be written. */
  saved(): Promise<void> {
    return this.#announced.saved();
  }

  #publishBridge(): void {
    this.#isBridgeChanged = true;
    this.#plan();
  }

  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    // Several changes of one moment are one publication.
    setImmediate(() => this.#publishSome());
  }

  #publishSome(): void {
    this.#isPlanned = false;
    const { link, clock } = this.#context;
    if (link.status().waiting >= MOST_WAITING) return;
    const some = this.#takeSome();
    const restMs = this.#bridgeThrottle.restMs();
    const withBridge = this.#isBridgeChanged && this.#changed.size === 0 && restMs <= 0;
    if (withBridge) this.#isBridgeChanged = false;
    const end = withBridge ? this.#bridgeThrottle.begin() : null;
    this.#publish(withBridge ? [BRIDGE, ...some] : some);
    end?.();
    if (this.#changed.size > 0) this.#plan();
    else if (this.#isBridgeChanged && !this.#isResting) {
      this.#isResting = true;
      clock.after(restMs, () => {
        this.#isResting = false;
        this.#plan();
      });
    }
  }

  #takeSome(): readonly string[] {
    const some = [...this.#changed].slice(0, ACCOUNTS_AT_ONCE);
    for (const account of some) this.#changed.delete(account);
    return some;
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
      .flatMap((account) => remembered(account, eventsOfStates(account, meterViews(account), this.#context)));
  }

  /** Retained messages that differ from what was sent last: online, discovery, states, then the clearing of what is gone. */
  #compose(owners: readonly string[]): Message[] {
    const stateTopic = this.#context.topics.of('bridge/state');
    const news = owners.flatMap((owner) => this.#retained.take(owner, this.#retainedOf(owner)));
    const comesFirst = ({ topic }: Message) => isDiscovery(topic) || topic === stateTopic;
    const isWhole = this.#retained.owners === this.#byId.size + 1;
    const isComplete = owners.includes(BRIDGE) && isWhole && this.#bridgeStatus.isComplete();
    return [
      ...news.filter(comesFirst),
      ...news.filter((message) => !comesFirst(message)),
      ...(isComplete ? this.#retained.gone() : []),
    ];
  }

  /** With many accounts these are the first messages, and the others follow. */
  #republish(isForgotten?: (topic: string) => boolean): readonly Message[] {
    this.#retained.forget(isForgotten);
    for (const account of this.#byId.keys()) this.#changed.add(account);
    const first = this.#takeSome();
    // From now on what changes is news.
    this.#context.link.publish(this.#eventsOf(first));
    this.#isBridgeChanged = this.#changed.size > 0;
    if (this.#isBridgeChanged) this.#plan();
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

/** The owner of the bridge's topics; the others are accounts, whose ids are never empty. */
export const BRIDGE = '';

interface Composed {
  readonly bridgeStatus: BridgeStatus;
  readonly constituencies: Constituencies | null;
  /** `null` where no device is announced. */
  readonly discovery: DiscoveryOptions | null;
}

/** Composes everything that an owner retains, as things stand now. */
export function composer({ bridgeStatus, constituencies, discovery }: Composed, context: Context) {
  const { topics } = context;
  const byId = new Map(context.accounts.map((account) => [account.id, account]));
  return (owner: string): Retained[] => {
    const account = byId.get(owner);
    if (account)
      return composeAccount(accountView(account, context), meterViews(account), { topics, discovery });
    return [
      stateMessage(topics, 'online'),
      ...(discovery ? [bridgeDocument(discovery)] : []),
      infoMessage(topics, bridgeStatus.bridge()),
      topics.message('bridge/health', [], bridgeStatus.health()),
      ...(constituencies?.messages() ?? []),
    ];
  };
}

/** The broker is asked once for each ledger that is new: by the topic of its meter, which has one message. */
export class HistoryOnBroker {
  readonly #topics: Topics;
  readonly #log: Log;
  /** `null` as long as nobody may be asked. */
  #link: Pick<Link, 'readRetained'> | null = null;
  /** To be called when a history has to be read again. */
  #onReopened: (meter: Meter) => void = () => undefined;

  constructor(topics: Topics, log: Log) {
    this.#topics = topics;
    this.#log = log;
  }

  /** From now on meters that are opened are looked up. */
  open(link: Pick<Link, 'readRetained'>, onReopened: (meter: Meter) => void): void {
    this.#link = link;
    this.#onReopened = onReopened;
  }

  /** To be called with each meter that is opened, before its first question. Without a connection it is asked at the first one. */
  async restore(meter: Meter): Promise<void> {
    const link = this.#link;
    if (link !== null) await this.#look(meter, (...question) => link.readRetained(...question));
  }

  /** For each connection, before anything is published: what was opened without one. */
  async atConnection(accounts: readonly Account[], read: ReadRetained): Promise<void> {
    for (const meter of accounts.flatMap((account) => account.meters ?? [])) {
      if (!meter.store.isNew) continue;
      await this.#look(meter, read);
      if (!meter.ledger.complete) this.#onReopened(meter);
    }
  }

  async #look(
    meter: Meter,
    read: (...question: Parameters<ReadRetained>) => Promise<Incoming | null | undefined>,
  ): Promise<void> {
    if (!meter.store.isNew) return;
    const topic = retainedHistory(this.#topics, meter.name);
    const found = await read(topic, (late) => void this.#takeLate(meter, late));
    if (found !== undefined) await meter.store.restore(found && this.#understood(meter, found));
  }

  /** It was longer on its way than the silence after which nothing was thought to be there. */
  async #takeLate(meter: Meter, late: Incoming): Promise<void> {
    const history = this.#understood(meter, late);
    if (history === null) return;
    await meter.store.restoreLate(history);
    this.#onReopened(meter);
  }

  #understood(meter: Meter, { payload }: Incoming): RetainedHistory | null {
    const history = readRetainedHistory(payload);
    if (history === null)
      this.#log.warn({ meter: meter.name }, 'the retained history is not understood and is ignored');
    return history;
  }
}

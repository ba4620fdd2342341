// What goes to the broker and when: everything on connect, discovery and states when Home Assistant starts, else what has changed.
import { createHash } from 'node:crypto';
import { pageAddress } from '../../config/pageAddress.ts';
import type { Constituencies } from '../../constituencies/onDemand.ts';
import { Throttle } from '../../foundation/limits.ts';
import type { Link } from '../../mqtt/link.ts';
import type { Message } from '../../mqtt/message.ts';
import {
  accountDocument,
  announce,
  bridgeDocument,
  type DiscoveryDocument,
  type DiscoveryOptions,
  meterDocument,
} from '../../publication/discovery.ts';
import { clear } from '../../publication/topics.ts';
import type { AccountView, MeterView } from '../../publication/views.ts';
import type { Context } from '../context.ts';
import type { Events } from './events.ts';
import type { RetainedTopics } from './retainedTopics.ts';
import type { Snapshot } from './snapshot.ts';
import { States } from './states.ts';

interface Parts {
  readonly snapshot: Snapshot;
  readonly constituencies: Constituencies | null;
  readonly retainedTopics: RetainedTopics;
  readonly events: Events;
  readonly link: Link;
}

interface Composed {
  readonly discovery: readonly Message[];
  readonly states: readonly Message[];
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
  readonly #accountIds: readonly string[];
  readonly #discovery: DiscoveryOptions | null;
  /** Accounts that may have changed since they were composed. */
  readonly #changed = new Set<string>();
  #bridgeChanged = false;
  /** What the bridge tells of itself grows with the accounts. */
  readonly #bridgeThrottle: Throttle;
  #isResting = false;
  #isPlanned = false;
  /** Digests of the payloads that were sent last, by topic. With thousands of meters the payloads would fill the memory. */
  readonly #sent = new Map<string, string>();
  /** The shape in which each account was announced. */
  readonly #shapes = new Map<string, string>();
  readonly #states: States;

  constructor(parts: Parts, context: Context) {
    const { config, topics, clock, signals } = context;
    const { discovery_prefix: prefix } = config.mqtt;
    this.#parts = parts;
    this.#context = context;
    this.#accountIds = config.accounts.map(({ id }) => id);
    this.#bridgeThrottle = new Throttle(clock);
    this.#states = new States(parts, topics);
    const accounts = this.#accountIds.length > 0;
    const constituencies = parts.constituencies !== null;
    const page = pageAddress(config);
    this.#discovery = prefix === false ? null : { prefix, topics, page, accounts, constituencies };
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
    this.#sent.clear();
    return this.#anew();
  }

  /** The messages of a Home Assistant that starts anew: discovery and states. No entity reads the long lists. */
  forHomeAssistant(): readonly Message[] {
    const start = this.#context.topics.base.length + 1;
    for (const topic of this.#sent.keys()) if (!LONG_LIST.test(topic.slice(start))) this.#sent.delete(topic);
    return this.#anew();
  }

  #anew(): readonly Message[] {
    this.#shapes.clear();
    for (const account of this.#accountIds) this.#changed.add(account);
    const first = this.#takeSome();
    this.#bridgeChanged = this.#changed.size > 0;
    if (this.#bridgeChanged) this.#plan();
    return this.#compose(first, true);
  }

  /** To be called with each message that the broker has acknowledged. */
  delivered(message: Message): void {
    this.#parts.retainedTopics.delivered(message);
    if (this.#changed.size > 0 || (this.#bridgeChanged && !this.#isResting)) this.#plan();
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

  #takeSome(): readonly string[] {
    const some = [...this.#changed].slice(0, ACCOUNTS_AT_ONCE);
    for (const account of some) this.#changed.delete(account);
    return some;
  }

  #publish(accounts: readonly string[], withBridge: boolean): void {
    const { link, events, snapshot } = this.#parts;
    // The first connection begins with everything; what was composed before could be older than the restored history.
    if (!link.status().hasConnected) return;
    link.publish([
      ...this.#compose(accounts, withBridge),
      ...events.ofLateness(accounts),
      ...events.ofUnusualUse(snapshot.meters(accounts)),
    ]);
  }

  /** Retained messages that differ from what was sent last: online, discovery, states, then the clearing of what is gone. */
  #compose(accounts: readonly string[], withBridge: boolean): Message[] {
    const { snapshot, retainedTopics } = this.#parts;
    const parts = [
      ...(withBridge ? [this.#composeBridge()] : []),
      ...snapshot
        .accounts(accounts)
        .map((view) => this.#composeAccount(view, snapshot.meters([view.account]))),
    ];
    const isComplete = withBridge && this.#shapes.size === this.#accountIds.length && snapshot.isComplete();
    return [
      ...parts.flatMap(({ discovery }) => discovery),
      ...parts.flatMap(({ states }) => states),
      ...(isComplete ? retainedTopics.gone().map(clear) : []),
    ].filter((message) => this.#isNew(message));
  }

  #composeBridge(): Composed {
    const { online, others } = this.#states.ofBridge();
    const documents = this.#discovery ? [bridgeDocument(this.#discovery)] : [];
    const discovery = [online, ...this.#announce(documents)];
    this.#parts.retainedTopics.set('', [...discovery, ...others], documents);
    return { discovery, states: others };
  }

  #composeAccount(view: AccountView, meters: readonly MeterView[]): Composed {
    this.#parts.events.noteUse(meters);
    const { account, invoices } = view;
    const options = this.#discovery;
    const documents = options
      ? [accountDocument(options, view), ...meters.map((meter) => meterDocument(options, meter))]
      : [];
    // Of a thousand accounts only the digests stay in memory. Without discovery no document names the currency.
    const names = meters.map(({ meter }) => meter);
    const shape = digestOf(JSON.stringify([names, view.currency, invoices !== null, documents]));
    const isNew = this.#shapes.get(account) !== shape;
    const states = this.#states.ofAccount(view, meters, isNew);
    if (!isNew) return { discovery: [], states };
    this.#shapes.set(account, shape);
    const discovery = this.#announce(documents);
    this.#parts.retainedTopics.set(account, [...discovery, ...states], documents);
    return { discovery, states };
  }

  #announce(documents: readonly DiscoveryDocument[]): Message[] {
    return documents.flatMap((document) =>
      announce(document, this.#parts.retainedTopics.componentsOf(document.topic)),
    );
  }

  /** Whether it differs from what was sent last; from now on it counts as sent. */
  #isNew({ topic, payload, step }: Message): boolean {
    const digest = digestOf(payload);
    if (!step && this.#sent.get(topic) === digest) return false;
    this.#sent.set(topic, digest);
    return true;
  }
}

const digestOf = (text: string): string => createHash('sha1').update(text).digest('base64');

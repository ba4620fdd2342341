// The lasting link to the broker: connects again for as long as it takes, and delivers every event and the newest state of each topic.
import type { Clock } from '../foundation/clock.ts';
import { Failure, safeWords } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import type { BrokerAddress, Connection, ConnectOptions, ProtocolVersion } from './connection.ts';
import { Culprit, publicationOf } from './culprit.ts';
import { Delivery } from './delivery.ts';
import { lossesBy } from './limits.ts';
import type { Incoming, Message, Subscription } from './message.ts';
import { openConnection } from './opening.ts';
import { RefusalList } from './refusalList.ts';
import { BrokerFailure, connectionCut } from './refusals.ts';
import { type ReadRetained, Subscriber } from './subscriber.ts';

export interface LinkOptions extends Pick<ConnectOptions, 'willAfterSeconds'> {
  /** Asked before each attempt, so that changed secrets and certificates are picked up. */
  readonly address: () => Promise<BrokerAddress>;
  readonly will: Message;
  readonly subscriptions: readonly Subscription[];
  readonly clock: Clock;
  readonly log: Log;
  /** Draws from [0, 1). */
  readonly random: () => number;
}

export interface LinkConsumers {
  /** The current state of everything, asked for on each connect; it goes out first, in this order. */
  readonly announcement: () => readonly Message[];
  readonly onMessage?: (incoming: Incoming) => void;
  /** The broker has acknowledged the message. */
  readonly onDelivered?: (message: Message) => void;
  /** The list of `refusals` has changed. */
  readonly onRefusals?: () => void;
  /** A message was published that is not retained: a listener that is not told now misses it. */
  readonly onPassing?: (message: Message) => void;
  /** The connection has come or gone. */
  readonly onStatus?: () => void;
  /** Called with each connection before anything is published. */
  readonly restore?: (read: ReadRetained) => Promise<void>;
}

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
// A connection that breaks sooner does not reset the back-off.
const STABLE_MS = 30_000;
// Not every broker tells a client why it closes the connection.
const SHORT_LIVED =
  "If this goes on: another client may use the same client id, or the broker's log tells why it cuts.";
/** A broker that restarts, or a network that breaks, does so once or twice. */
const MOST_WORDLESS = 2;
const CUT_WITHOUT_A_WORD = new BrokerFailure(
  'broker_cut',
  'One connection to the broker after the other ends within half a minute, and the broker does not say why.',
  SHORT_LIVED,
);

export class Link {
  readonly #options: LinkOptions;
  readonly #culprit: Culprit;
  /** Filters that were refused on the present connection, or the last one. */
  readonly #refusedFilters: RefusalList;
  /** Retained topics whose newest message the broker has refused. */
  readonly #refusedTopics: RefusalList;
  readonly #subscriber: Subscriber;
  readonly #delivery: Delivery;
  readonly #stopping = new AbortController();
  #consumers: LinkConsumers = { announcement: () => [] };
  #running: Promise<void> = Promise.resolve();
  #hasConnected = false;
  /** The version of the last connection, until an attempt fails. */
  #spoken: ProtocolVersion | undefined;
  /** The clock is the monotonic one: a Pi that starts in 1970 has not been offline for decades. */
  #offlineSince: number;
  #lastWarning = '';
  /** The reason why the broker has ended the last connection, until one lasts. */
  #cut: Failure | null = null;
  /** Connections in a row that did not last, and ended without a reason while nothing was under way. */
  #wordless = 0;
  /** The limits of the present connection, or of the last one, cost these. */
  #losses: readonly Failure[] = [];

  constructor(options: LinkOptions) {
    const { clock, log, will, subscriptions } = options;
    const { signal } = this.#stopping;
    this.#options = options;
    // The broker has taken a will for this topic: no message of it ends the connection.
    this.#culprit = new Culprit(publicationOf(will.topic));
    this.#offlineSince = clock.monotonic();
    const refusals = () => new RefusalList(log, () => this.#consumers.onRefusals?.());
    this.#refusedFilters = refusals();
    this.#refusedTopics = refusals();
    this.#subscriber = new Subscriber({ subscriptions, clock, signal, refusals: this.#refusedFilters });
    this.#delivery = new Delivery({
      clock,
      signal,
      refusals: this.#refusedTopics,
      onDelivered: (message) => this.#consumers.onDelivered?.(message),
    });
  }

  start(consumers: LinkConsumers): void {
    this.#consumers = consumers;
    this.#running = this.#run();
  }

  async #run(): Promise<void> {
    const { clock, random } = this.#options;
    const { signal } = this.#stopping;
    for (let failures = 0; !signal.aborted; failures += 1) {
      if (await this.#connectOnce()) failures = 0;
      const wait = Math.min(FIRST_WAIT_MS * 2 ** Math.min(failures, 10), LONGEST_WAIT_MS);
      await clock.sleep(wait * (0.75 + random() / 2), signal);
    }
  }

  /** Resolves when there is no connection (any more), with whether it had lasted, or the next one gets further. */
  async #connectOnce(): Promise<boolean> {
    let connection: Connection | null = null;
    let isStable = false;
    try {
      connection = await this.#open();
      await this.#prepare(connection);
      isStable = await this.#live(connection);
    } catch (err) {
      await connection?.close(0);
      this.#noteFailure(err);
    }
    if (connection === null) return false;
    const end = await connection.ended;
    const isWordless = !isStable && end.code === undefined && end.unanswered === undefined;
    this.#wordless = isWordless ? this.#wordless + 1 : 0;
    const cut = this.#wordless > MOST_WORDLESS ? CUT_WITHOUT_A_WORD : connectionCut(end);
    this.#noteCut(cut ?? this.#cut);
    return isStable || end.nextGetsFurther;
  }

  /** Written once for each reason: the same failure every half minute is no news. */
  #noteFailure(err: unknown): void {
    const isNews = String(err) !== this.#lastWarning && !this.#stopping.signal.aborted;
    const words = err instanceof Failure ? safeWords(err) : { err };
    if (isNews) this.#options.log.warn(words, 'no connection to the broker');
    this.#lastWarning = String(err);
  }

  /** Rejects as `openConnection` does, or with a fault of a secret file. */
  async #open(): Promise<Connection> {
    const { address, clock } = this.#options;
    const options = {
      ...this.#options,
      onMessage: (incoming: Incoming) => {
        this.#subscriber.hear(incoming);
        this.#consumers.onMessage?.(incoming);
      },
      culprit: this.#culprit,
    };
    const spoken = this.#spoken;
    this.#spoken = undefined;
    const connection = await openConnection(await address(), clock, options, spoken);
    this.#spoken = connection.version;
    return connection;
  }

  /** Restores and subscribes. Rejects when the connection ends, or the link stops. */
  async #prepare(connection: Connection): Promise<void> {
    this.#losses = lossesBy(connection.limits);
    this.#refusedFilters.clear();
    await this.#consumers.restore?.((...question) => this.#subscriber.read(connection, ...question));
    await this.#subscriber.subscribe(connection);
    this.#stopping.signal.throwIfAborted();
  }

  /** Reads what is retained on a topic, over the present connection. `undefined`: there is none, or it has ended meanwhile. */
  async readRetained(...question: Parameters<ReadRetained>): Promise<Incoming | null | undefined> {
    const { connection } = this.#delivery;
    if (connection === null) return undefined;
    return this.#subscriber.read(connection, ...question).catch(() => undefined);
  }

  /** Resolves when the connection has ended, with whether it had lasted. */
  async #live(connection: Connection): Promise<boolean> {
    const { clock, log } = this.#options;
    this.#lastWarning = '';
    this.#hasConnected = true;
    this.#delivery.begin(connection, this.#consumers.announcement());
    log.info({ mqtt: connection.version === 5 ? '5' : '3.1.1' }, 'connected to the broker');
    this.#consumers.onStatus?.();
    // It rejects only if the connection has ended.
    this.#subscriber.insist(connection).catch(() => undefined);
    await clock.sleep(STABLE_MS, connection.gone);
    const isStable = !connection.gone.aborted;
    if (isStable) await this.#goOn(connection);
    const { what: why, hint = isStable ? undefined : SHORT_LIVED, unanswered } = await connection.ended;
    this.#offlineSince = clock.monotonic();
    this.#delivery.end();
    if (!this.#stopping.signal.aborted) log.warn({ why, hint, unanswered }, 'connection to the broker lost');
    this.#consumers.onStatus?.();
    return isStable;
  }

  /** The connection has lasted: what was left out is tried again, one at a time, before everything goes out as fast as the broker takes it. */
  async #goOn(connection: Connection): Promise<void> {
    this.#noteCut(null);
    while (this.#culprit.retry()) {
      this.#delivery.begin(connection, this.#consumers.announcement());
      await this.#options.clock.sleep(STABLE_MS, connection.gone);
      if (connection.gone.aborted) return;
    }
    connection.hurry();
  }

  #noteCut(cut: Failure | null): void {
    if (cut?.message === this.#cut?.message) return;
    this.#cut = cut;
    this.#consumers.onRefusals?.();
  }

  /** Until the first connection retained messages are dropped: the announcement has them, after what is restored. */
  publish(messages: readonly Message[]): void {
    if (this.#stopping.signal.aborted) return;
    const passing = messages.filter(({ retain }) => !retain);
    for (const message of passing) this.#consumers.onPassing?.(message);
    this.#delivery.put(this.#hasConnected ? messages : passing);
  }

  /** `Delivery.send`: these messages go past what waits. */
  send(messages: readonly Message[]): Promise<ReadonlySet<string>> {
    return this.#delivery.send(messages);
  }

  /** The broker does not allow these: in general, of subscriptions, and of retained topics. */
  refusals(): readonly Failure[] {
    const refused = [this.#refusedFilters, this.#refusedTopics].flatMap(({ refusals }) => refusals);
    return [this.#cut ?? [], this.#losses, refused].flat();
  }

  status() {
    const delivery = this.#delivery.status();
    return {
      ...delivery,
      /** There was a connection since the start. */
      hasConnected: this.#hasConnected,
      /** Milliseconds since the last moment with a connection, or since the start; 0 while connected. */
      offlineMs: delivery.connected ? 0 : this.#options.clock.monotonic() - this.#offlineSince,
    };
  }

  /**
   * Publishes the last words after what is under way, if there is a connection, and ends it within the deadline.
   * Nothing else is published from now on: a later `online` would stay on the broker for good.
   */
  async stop(lastWords: readonly Message[], deadlineMs: number): Promise<void> {
    const { clock } = this.#options;
    this.#stopping.abort();
    const last = this.#delivery.connection;
    if (last) {
      const said = Promise.all(lastWords.map((message) => last.publish(message)));
      await Promise.race([said.catch(() => undefined), clock.sleep(deadlineMs / 2)]);
      await last.close(deadlineMs / 2);
    }
    await Promise.race([this.#running, clock.sleep(deadlineMs)]);
  }
}

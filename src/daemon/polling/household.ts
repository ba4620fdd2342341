// The accounts of a household: one loop looks every second at what is due by the clocks as they are now, and gives each account its
// turn, a few at a time. Scheduled and requested polls, retries, backfills and refreshes all come this way.
import type { AccountOutcome } from '../../accounts/account.ts';
import { eventsLeft, remembered } from '../../accounts/events.ts';
import type { DaySpan } from '../../domain/period.ts';
import { momentOf } from '../../engine/due.ts';
import { type NextTick, nextSlot } from '../../engine/schedule.ts';
import { countsOf, logPolled, type Polled, pollTurn, refreshTurn } from '../../engine/turn.ts';
import { RateLimit } from '../../foundation/limits.ts';
import type { Context } from '../context.ts';
import { Seat } from './seat.ts';

/** The reason why a requested poll is not done now, and the time from which on it would be; epoch milliseconds. */
export interface PollRefusal {
  readonly reason: 'cool_down' | 'retry_after';
  readonly until: number;
}

/** Something that is done again and again, beside the turns. A step that fails does not keep the others from their turn. */
export interface Beat {
  readonly everyMs: number;
  readonly run: () => Promise<void>;
}

const TICK_MS = 1_000;
const COOLDOWN_MS = 5 * 60_000;
// A poll also waits for disk and broker, while others may ask. More at once would keep refreshes waiting for their place.
const POLLS_PER_PLACE = 8;
// If there are more accounts, the log has one line for a poll of all and one for each failure.
const MOST_NAMED = 50;

export class Household {
  readonly #context: Context;
  readonly #schedule: () => { readonly slot: number; readonly stepMs: number };
  readonly #seats: readonly Seat[];
  readonly #seatOf: ReadonlyMap<string, Seat>;
  readonly #isCrowd: boolean;
  readonly #cooldown: RateLimit;
  readonly #stopping = new AbortController();
  /** Turns under way. */
  readonly #turns = new Set<Promise<void>>();
  /** The outcomes of the polls since no poll was under way. */
  #outcomes: AccountOutcome[] = [];
  #tickedAt: number;
  #running: Promise<void> | null = null;
  /** Ends the wait for the next look. */
  #wake: () => void = () => undefined;

  /** `jitterMs`: the delay of this installation after each tick. */
  constructor(nextTick: NextTick, jitterMs: number, context: Context) {
    const { accounts, clock } = context;
    this.#context = context;
    this.#schedule = () => {
      const tick = nextTick(clock.now());
      return { slot: nextSlot(tick, jitterMs), stepMs: tick.stepMs };
    };
    this.#cooldown = new RateLimit(clock, 1, COOLDOWN_MS);
    this.#tickedAt = clock.monotonic();
    // Without accounts there is nothing to schedule.
    const next = accounts.length > 0 ? this.#schedule() : { slot: 0, stepMs: 0 };
    this.#seats = accounts.map((account) => new Seat(account, next, clock));
    this.#isCrowd = accounts.length > MOST_NAMED;
    this.#seatOf = new Map(this.#seats.map((seat) => [seat.account.id, seat]));
    context.signals.on('accountChanged', (id) => this.#seatOf.get(id)?.wake());
  }

  start(beats: readonly Beat[]): void {
    const { accounts, log } = this.#context;
    if (accounts.length === 0) log.info('no account is configured: nothing to poll');
    for (const account of accounts) this.#context.link.publish(eventsLeft(account, this.#context));
    this.#running = this.#run(beats);
  }

  async #run(beats: readonly Beat[]): Promise<void> {
    const { clock, log } = this.#context;
    await hurryThoseWithoutSession(this.#seats, this.#context);
    const doneAt = new Map(beats.map((beat) => [beat, clock.monotonic()]));
    while (!this.#stopping.signal.aborted) {
      this.#tick();
      for (const [beat, at] of doneAt) {
        if (clock.monotonic() - at < beat.everyMs) continue;
        doneAt.set(beat, clock.monotonic());
        await beat.run().catch((err) => log.error({ err }, 'heartbeat fault'));
      }
      await this.#untilNextTick();
    }
  }

  /** A listener at a signal, each second, would cost as much as the look. */
  #untilNextTick(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#stopping.signal.aborted) return resolve();
      const cancel = this.#context.clock.after(TICK_MS, resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }

  #tick(): void {
    this.#tickedAt = this.#context.clock.monotonic();
    if (this.#seats.length === 0) return;
    const { slot } = this.#schedule();
    for (const seat of this.#seats) seat.keepWithin(slot);
    this.#give();
  }

  /** Gives turns to those that are due. Refreshes come first: a poll of a thousand accounts would let sessions lapse. */
  #give(): void {
    if (this.#stopping.signal.aborted) return;
    const { config, clock } = this.#context;
    // One moment serves all: a thousand accounts are gone through after each of a thousand turns.
    const moment = momentOf(clock);
    for (const seat of config.provider?.keep_alive ? this.#seats : [])
      if (!seat.isBusy && !seat.canRefreshWait(moment)) this.#begin(seat, () => this.#refreshIfDue(seat));
    const most = this.#context.limit.concurrency * POLLS_PER_PLACE;
    for (const seat of this.#seats) {
      if (this.#turns.size >= most) return;
      if (!seat.isBusy && seat.isPollDue(moment)) this.#begin(seat, () => this.#poll(seat));
    }
  }

  #begin(seat: Seat, step: () => Promise<void>): void {
    seat.isBusy = true;
    const turn = step().finally(() => {
      seat.isBusy = false;
      this.#turns.delete(turn);
      this.#give();
    });
    this.#turns.add(turn);
  }

  async #poll(seat: Seat): Promise<void> {
    const { signal } = this.#stopping;
    const { account } = seat;
    const { again, end } = seat.begin();
    const slot = () => this.#schedule().slot;
    const turn = { slot, signal, again, wasFailing: seat.fault !== null };
    const polled = await pollTurn(account, turn, this.#context);
    if (polled !== null) this.#took(seat, polled);
    seat.polling = null;
    end(polled?.outcome ?? null);
    if (polled === null) return;
    this.#outcomes.push(polled.outcome);
    const moment = momentOf(this.#context.clock);
    if (this.#seats.every((each) => !each.polling && !each.isPollDue(moment))) this.#rest();
  }

  #took(seat: Seat, { outcome, due, events }: Polled): void {
    const { log, link, signals } = this.#context;
    const { account } = seat;
    seat.took(outcome.fault, due);
    account.journal.save();
    const news = remembered(account, events);
    if (outcome.fault === null && this.#isCrowd) log.debug({ account: account.id }, 'polled');
    else if (outcome.fault === null) logPolled(account, outcome, log);
    link.publish(news);
    signals.emit('accountChanged', account.id);
  }

  /** No poll is under way, and none is due. */
  #rest(): void {
    const { log, signals } = this.#context;
    const outcomes = this.#outcomes;
    this.#outcomes = [];
    const failed = outcomes.filter(({ fault }) => fault !== null).length;
    const counts = countsOf(outcomes.flatMap(({ events }) => events));
    if (this.#isCrowd) log.info({ accounts: outcomes.length, failed, ...counts }, 'accounts polled');
    // Their bills are about meters that another account has read, perhaps after their own poll.
    for (const { account } of this.#seats)
      if (account.properties.duplicates().length > 0) signals.emit('accountChanged', account.id);
    signals.emit('pollEnded');
  }

  async #refreshIfDue(seat: Seat): Promise<void> {
    if (!(await seat.isRefreshDue())) return;
    const { account } = seat;
    const { link, signals } = this.#context;
    const { signal } = this.#stopping;
    // Many may have waited for their place when the program stops.
    const turn = { signal, wasFailing: seat.fault !== null };
    const refreshed = await this.#context.limit(async () =>
      signal.aborted ? null : refreshTurn(account, turn, this.#context),
    );
    seat.wake();
    if (refreshed === null || signal.aborted) return;
    const { events, isPollWanted } = refreshed;
    if (events.length > 0) {
      link.publish(remembered(account, events));
      signals.emit('personNeeded', account.id);
    }
    if (isPollWanted) this.pollSoon(account.id, true);
  }

  /** The failure of the account's last poll; `null`: none. */
  faultOf(account: string): unknown {
    return this.#seatOf.get(account)?.fault ?? null;
  }

  isPolling(account: string): boolean {
    return (this.#seatOf.get(account)?.polling ?? null) !== null;
  }

  /** Milliseconds since the last look: proof that the event loop is alive. */
  ageMs(): number {
    return this.#context.clock.monotonic() - this.#tickedAt;
  }

  /** Epoch milliseconds of the next poll that is planned; `null` without accounts. */
  nextPollAt(): number | null {
    if (this.#seats.length === 0) return null;
    const { slot } = this.#schedule();
    // The one under way is not the next one.
    return Math.min(...this.#seats.map(({ polling, pollAt }) => (polling === null ? pollAt : slot)));
  }

  /** Polls all accounts; those that the provider has told to wait are left out. Calls during that time share its outcome. */
  poll(): Promise<readonly AccountOutcome[]> {
    return this.#ask(this.#seats.filter(({ isPaused }) => !isPaused));
  }

  /** Reads a span of days again, after what may be under way, of the accounts whose totals begin before its end. */
  backfill(span: DaySpan): Promise<readonly AccountOutcome[]> {
    const seats = this.#seats.filter((seat) => !seat.isPaused && !seat.beginsAfter(span));
    return this.#ask(seats, span);
  }

  async #ask(seats: readonly Seat[], again?: DaySpan): Promise<readonly AccountOutcome[]> {
    const outcomes = Promise.all(seats.map((seat) => seat.ask(again)));
    this.#give();
    return (await outcomes).filter((outcome) => outcome !== null);
  }

  /** The account's trouble may be over: its retry is due now. `always`: also after a poll that went well. Tells whether a poll begins at once. */
  pollSoon(id: string, always = false): boolean {
    const seat = this.#seatOf.get(id);
    if (!seat || (seat.fault === null && !always)) return false;
    const wasPolling = seat.polling !== null;
    seat.hurry();
    this.#give();
    return !wasPolling && seat.polling !== null;
  }

  /** The reason why a requested poll is not done now; `null`: it would be done. */
  refusal(): PollRefusal | null {
    const coolDownMs = this.#cooldown.waitMs();
    const pauseMs = this.#seats.length > 0 ? Math.min(...this.#seats.map((seat) => seat.pauseMs)) : 0;
    const waitMs = Math.max(coolDownMs, pauseMs);
    if (waitMs <= 0) return null;
    const reason = pauseMs > coolDownMs ? 'retry_after' : 'cool_down';
    return { reason, until: this.#context.clock.now() + waitMs };
  }

  /** The same as `refusal`; without one the cooldown begins again. */
  acceptRequest(): PollRefusal | null {
    const refused = this.refusal();
    if (refused !== null) return refused;
    this.#cooldown.tryStart();
    this.#context.signals.emit('bridgeChanged');
    return null;
  }

  /** Resolves once no turn is under way. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wake();
    for (const seat of this.#seats) seat.stop();
    await Promise.all([this.#running, ...this.#turns]);
  }
}

/** An account that waits for a login is polled at the start, which tells so and asks nothing. */
async function hurryThoseWithoutSession(seats: readonly Seat[], { clock, log }: Context): Promise<void> {
  const isDue = (seat: Seat) => seat.isPollDue(momentOf(clock));
  for (const seat of seats) if (!isDue(seat) && (await seat.waitsForLogin())) seat.hurry();
  if (seats.length > 0 && !seats.some(isDue)) log.info('skipping the poll at start: the last one is recent');
}

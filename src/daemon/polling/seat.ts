// One account of a household between its turns: when it is due, what is asked of it, and what its last turns failed of.
import type { Account, AccountOutcome } from '../../accounts/account.ts';
import type { DaySpan } from '../../domain/period.ts';
import {
  type Due,
  dueAtStart,
  isPaused,
  type Moment,
  momentOf,
  msUntilPoll,
  notAfter,
} from '../../engine/due.ts';
import type { Clock } from '../../foundation/clock.ts';
import { EXIT, failure } from '../../foundation/failure.ts';

/** A poll that somebody waits for. */
interface Asked {
  /** These days are read instead of what is due. */
  readonly again: DaySpan | undefined;
  readonly outcome: Promise<AccountOutcome | null>;
  readonly end: (outcome: AccountOutcome | null) => void;
}

// The timers of a suspended machine stand still: the tokens are looked at at least this often.
const LONGEST_UNTIL_LOOK_MS = 30_000;

export class Seat {
  readonly account: Account;
  due: Due;
  /** The last poll's failure; `null`: none. */
  fault: unknown;
  /** A turn is under way. */
  isBusy = false;
  /** The poll under way. */
  polling: Asked | null = null;
  readonly #clock: Clock;
  readonly #asked: Asked[] = [];
  /** If the poll under way fails, the next one is due at once. */
  #isHurried = false;
  /** The tokens need not be looked at before; on the monotonic clock. */
  #refreshLookAt = Number.NEGATIVE_INFINITY;

  /** `slot`: the next poll of the schedule; `stepMs`: from one to the next. */
  constructor(
    account: Account,
    { slot, stepMs }: { readonly slot: number; readonly stepMs: number },
    clock: Clock,
  ) {
    this.account = account;
    this.#clock = clock;
    this.fault = faultBefore(account);
    this.due = dueAtStart(account.journal.record, this.#isRecent(stepMs), slot, momentOf(clock));
  }

  /** Everything was read so lately that the schedule is soon enough. */
  #isRecent(stepMs: number): boolean {
    const { meters, journal } = this.account;
    const { lastSuccessAt } = journal.record;
    if (lastSuccessAt === null || !meters?.every(({ ledger }) => ledger.complete)) return false;
    const ageMs = this.#clock.now() - lastSuccessAt;
    return ageMs >= 0 && ageMs < stepMs;
  }

  /** There is no session, and no login may be tried now. */
  async waitsForLogin(): Promise<boolean> {
    const { login, session } = this.account.upstream;
    await session.current().catch(() => null);
    if (session.isRenewable || session.hasUsableAccess) return false;
    return login.needsPerson || (await login.suspendedBy().catch(() => null)) !== null;
  }

  /** A due time after the next one of the schedule comes from a clock that was wrong. */
  keepWithin(slot: number): void {
    this.due = notAfter(slot, this.due);
  }

  get isPaused(): boolean {
    return isPaused(this.due, momentOf(this.#clock));
  }

  /** A poll is due by the schedule, for a retry, or because somebody waits for it. */
  isPollDue(moment: Moment): boolean {
    return this.#asked.length > 0 || msUntilPoll(this.due, moment) <= 0;
  }

  /** Milliseconds until a request to it is not refused by the provider's own wish; 0 or less: now. */
  get pauseMs(): number {
    return this.due.notBefore - this.#clock.monotonic();
  }

  /** Epoch milliseconds. */
  get pollAt(): number {
    return this.#clock.now() + msUntilPoll(this.due, momentOf(this.#clock));
  }

  canRefreshWait({ monotonic }: Moment): boolean {
    return monotonic < this.#refreshLookAt;
  }

  /** The session may have other tokens. */
  wake(): void {
    this.#refreshLookAt = Number.NEGATIVE_INFINITY;
  }

  /** The session is to be refreshed now. If not, it is looked at again in time. */
  async isRefreshDue(): Promise<boolean> {
    const waitMs = (await this.account.refreshPlan.msUntilDue()) ?? LONGEST_UNTIL_LOOK_MS;
    this.#refreshLookAt = this.#clock.monotonic() + Math.min(Math.max(waitMs, 0), LONGEST_UNTIL_LOOK_MS);
    return waitMs <= 0;
  }

  /**
   * A poll that is wanted, or shares the outcome of the one that is under way or wanted already. Resolves to `null` when the program
   * stops before.
   */
  ask(again?: DaySpan): Promise<AccountOutcome | null> {
    const wanted = [...(this.polling === null ? [] : [this.polling]), ...this.#asked];
    // Days that are read again are asked for after whatever is under way.
    const shared = again === undefined ? wanted.find((asked) => asked.again === undefined) : undefined;
    if (shared) return shared.outcome;
    const asked = openAsked(again);
    this.#asked.push(asked);
    return asked.outcome;
  }

  /** The next poll that is wanted, and from now on the one under way. */
  begin(): Asked {
    const asked = this.#asked.shift() ?? openAsked(undefined);
    this.polling = asked;
    return asked;
  }

  /** It is due at once, or where a poll is under way that fails, after it: a person may have put right what it failed of. */
  hurry(): void {
    this.#isHurried = this.polling !== null;
    this.due = { ...this.due, retryAt: this.#clock.monotonic() };
  }

  /** A poll has ended. */
  took(fault: unknown, due: Due): void {
    this.fault = fault;
    const isAtOnce = this.#isHurried && fault !== null;
    this.due = isAtOnce ? { ...due, retryAt: this.#clock.monotonic() } : due;
    this.#isHurried = false;
  }

  /** Nobody waits any longer. */
  stop(): void {
    for (const { end } of this.#asked.splice(0)) end(null);
  }

  /** Its totals begin after these days: nothing would be asked, which tells nothing about the provider. */
  beginsAfter({ to }: DaySpan): boolean {
    const meters = this.account.meters ?? [];
    return meters.length > 0 && meters.every(({ ledger }) => ledger.origin >= to);
  }
}

function openAsked(again: DaySpan | undefined): Asked {
  let end: Asked['end'] = () => undefined;
  const outcome = new Promise<AccountOutcome | null>((resolve) => {
    end = resolve;
  });
  return { again, outcome, end };
}

/** The failure of the last poll before this start, which is told until one succeeds. */
function faultBefore({ journal: { record } }: Account): unknown {
  const code = record.polls.at(-1)?.[1] ?? null;
  if (code === null) return null;
  const message = `The last poll before heat2mqtt was started again failed (${code}).`;
  return failure(code, message, {
    exit: EXIT.provider,
    retry: 'later',
    hint: 'The next poll shows whether this is over.',
  });
}

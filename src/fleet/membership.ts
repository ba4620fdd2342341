// The processes of a fleet: each has a number, tells the database every two seconds that it lives, and hears how the fleet is: for
// how many requests that leaves room, whether the provider has asked for a pause, and who keeps what is there once.
import { randomUUID } from 'node:crypto';
import type { Fleet } from '../config/schema.ts';
import type { Reason } from '../domain/health.ts';
import type { Zone } from '../domain/period.ts';
import { about } from '../foundation/about.ts';
import { EXIT, Failure } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import { retryAfterMs } from '../foundation/retry.ts';
import type { Gate } from '../http/client.ts';
import { type Health, healthOf } from '../publication/messages.ts';
import type { ClaimedAccount, Claims } from '../store/database/claims.ts';
import { type Database, DatabaseTrouble, type SharedClock } from '../store/database/database.ts';
import type { OpenFleet } from './open.ts';
import { countWords } from './roster.ts';

const KEEPER_SECONDS = 10;
/** After so long without an answer the database counts as gone, and everything that looks at the fleet is told. */
const DATABASE_GONE_MS = 30_000;
const COUNT_EVERY_MS = 10_000;
// SQLSTATE: a unique key that is there already.
const TAKEN = '23505';
const isTaken = (err: unknown) => err instanceof DatabaseTrouble && err.reason === TAKEN;

/** The provider has asked for a pause of all accounts: this is no failure of the one. */
export class FleetPaused extends Failure {
  constructor(ms: number) {
    const options = { exit: EXIT.provider, retry: 'later', retryAfterMs: ms } as const;
    super('fleet_paused', 'The provider has asked for a pause.', options);
  }
}

// Too many requests; service unavailable.
const ASKS_FOR_TIME = [429, 503];
// So many accounts that are told to wait within a minute: it is not about the one.
const ACCOUNTS_THAT_ARE_ALL = 3;
const TOGETHER_MS = 60_000;

/** Without a number of its own a process gets the lowest that is free. */
const BEAT = `
WITH me AS (INSERT INTO heat2mqtt.process (id, number, version) SELECT $1, coalesce($2, min(n)), $3
  FROM generate_series(1, (SELECT count(*)::int + 1 FROM heat2mqtt.process)) n
  WHERE NOT EXISTS (SELECT FROM heat2mqtt.process WHERE number = n)
  ON CONFLICT (id) DO UPDATE SET seen_at = now() RETURNING number),
keeping AS (UPDATE heat2mqtt.fleet SET keeper = $1, keeper_until = now() + make_interval(secs => $4)
  WHERE keeper = $1 OR keeper_until <= now() RETURNING true AS mine)
SELECT (SELECT number FROM me) AS number, (SELECT mine FROM keeping) AS mine,
  1 + (SELECT count(*) FROM heat2mqtt.process WHERE id <> $1 AND seen_at > now() - make_interval(secs => $4)) AS processes,
  greatest(0, extract(epoch FROM paused_until - now()) * 1000)::float8 AS "pausedMs",
  (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now
FROM heat2mqtt.fleet`;

interface Heard {
  readonly number: number;
  readonly mine: boolean | null;
  readonly processes: number;
  readonly pausedMs: number;
  readonly now: number;
}

export type Membership = Awaited<ReturnType<typeof joinFleet>>;

/** Takes a number, and sets the clock to the database's time. Rejects with DatabaseTrouble. */
export async function joinFleet(
  opened: OpenFleet,
  fleet: Pick<Fleet, 'claim_seconds' | 'requests_per_second'>,
  { clock, zone, log }: { readonly clock: SharedClock; readonly zone: Zone; readonly log: Log },
) {
  const { database } = opened;
  const id = randomUUID();
  let keeperUntil = Number.NEGATIVE_INFINITY;
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let countedAt = Number.NEGATIVE_INFINITY;
  let nextAt = Number.NEGATIVE_INFINITY;
  /** When accounts were told to wait. */
  const toldToWait = new Map<string, number>();
  let askedAt = clock.monotonic();
  let heardAt = askedAt;
  /** Why the database did not answer last; `null`: it did. */
  let fault: unknown = null;
  let failuresInARow = 0;
  let counted: Counted | null = null;
  let heard = await ask(null);

  async function ask(number: number | null): Promise<Heard> {
    askedAt = clock.monotonic();
    const [row] = await database
      .query<Heard>(BEAT, [id, number, about.version, KEEPER_SECONDS])
      // Another one that starts at this moment was faster.
      .catch((err) => (number === null && isTaken(err) ? [] : Promise.reject(err)));
    if (row === undefined) return ask(number);
    clock.set(row.now);
    keeperUntil = row.mine ? askedAt + KEEPER_SECONDS * 1000 : Number.NEGATIVE_INFINITY;
    heardAt = clock.monotonic();
    pause(row.pausedMs);
    return row;
  }

  const pausedMs = () => Math.max(0, pausedUntil - clock.monotonic());

  function pause(ms: number): void {
    pausedUntil = Math.max(pausedUntil, clock.monotonic() + ms);
  }

  /** Resolves when one request may be sent: each process that lives has the same part. */
  async function turn(signal: AbortSignal): Promise<void> {
    const now = clock.monotonic();
    const at = Math.max(nextAt, now);
    nextAt = at + (1000 * heard.processes) / fleet.requests_per_second;
    if (at > now) await clock.sleep(at - now, signal);
    signal.throwIfAborted();
  }

  /** The provider has told this account to wait: it is taken as said to all where it was said to several. */
  function noteWait(account: string, ms: number): void {
    const now = clock.monotonic();
    toldToWait.set(account, now);
    for (const [one, at] of toldToWait) if (now - at > TOGETHER_MS) toldToWait.delete(one);
    const isAboutAll = toldToWait.size >= ACCOUNTS_THAT_ARE_ALL;
    const whom = isAboutAll ? 'all accounts' : 'this account';
    log.warn({ account, seconds: Math.round(ms / 1000) }, `the provider asks ${whom} to wait`);
    if (!isAboutAll) return;
    pause(ms);
    const text =
      'UPDATE heat2mqtt.fleet SET paused_until = greatest(paused_until, now() + make_interval(secs => $1))';
    database
      .query(text, [ms / 1000])
      .catch((err) => log.warn({ err }, 'the others could not be told of the pause'));
  }

  async function count(): Promise<Counted> {
    countedAt = clock.monotonic();
    counted = await readHealth(database, fleet.claim_seconds, zone);
    return counted;
  }

  return {
    id,
    number: heard.number,
    /** One process at a time, and none for some seconds after one has died. */
    isKeeper: (): boolean => clock.monotonic() < keeperUntil,
    isDatabaseGone: (): boolean => clock.monotonic() - heardAt > DATABASE_GONE_MS,
    trouble: () => ({ fault, failuresInARow }),
    /** As it was counted last; `null`: not yet. */
    counted: () => counted,
    count,
    /** For how long no request of any account may be sent. */
    pausedMs,

    /** What stands before each request of an account: the pace, a pause and, before a token, the claim. */
    gatesOf(claim: ClaimedAccount, claims: Pick<Claims, 'renew'>) {
      let paused: FleetPaused | null = null;
      /** What an account has met during a pause is no failure of its own. */
      function throwIfPaused(): void {
        if (paused !== null) throw paused;
      }
      const gate = (to: 'issuer' | 'provider'): Gate => ({
        async enter() {
          throwIfPaused();
          await turn(claim.signal);
          if (pausedMs() > 0) paused = new FleetPaused(pausedMs());
          throwIfPaused();
          // A token is asked for while the account is ours, by the database, and stays so for a whole claim.
          if (to === 'issuer') await claims.renew([claim]);
          claim.check();
          return claim.signal;
        },
        answered({ status, headers }) {
          const ms = ASKS_FOR_TIME.includes(status) && retryAfterMs(headers['retry-after'], clock.now());
          if (ms) noteWait(claim.id, ms);
        },
      });
      return { gate, throwIfPaused };
    },

    /** To be called every two seconds. Rejects only when another process has taken the number while this one was stopped. */
    async beat(): Promise<void> {
      try {
        heard = await ask(heard.number);
        fault = null;
        failuresInARow = 0;
        if (askedAt - countedAt < COUNT_EVERY_MS) return;
        await opened.readSecretsAgain();
        await count();
      } catch (err) {
        if (isTaken(err)) throw err;
        fault = err;
        failuresInARow += 1;
        log.debug({ err }, 'the database does not hear this process');
        await opened.readSecretsAgain().catch(() => undefined);
      }
    },

    /** Resolves to whether other processes live. */
    async leave(): Promise<boolean> {
      keeperUntil = Number.NEGATIVE_INFINITY;
      const others = await database.query(
        `WITH me AS (DELETE FROM heat2mqtt.process WHERE id = $1),
        kept AS (UPDATE heat2mqtt.fleet SET keeper_until = 'epoch' WHERE keeper = $1)
        SELECT id FROM heat2mqtt.process WHERE id <> $1 AND seen_at > now() - make_interval(secs => $2)`,
        [id, KEEPER_SECONDS],
      );
      return others.length > 0;
    },
  };
}

type FleetPart = NonNullable<Health['fleet']>;
type Times = 'lastPollAt' | 'lastSuccessAt' | 'nextPollAt' | 'pollNowAt' | 'oldestDueAt' | 'pausedUntil';

/** As the database counts; times in epoch milliseconds. `pausedUntil` is `null` where the provider has not asked all to wait. */
interface CountRow
  extends Readonly<Record<Times, number | null>>,
    Pick<Health, 'failures_in_a_row' | 'requests_today' | 'logins_today'>,
    Pick<FleetPart, 'accounts' | 'paused' | 'failing' | 'overdue'> {
  readonly toldToWait: number;
  readonly now: number;
  readonly codes: readonly { readonly code: string; readonly accounts: number }[];
  readonly processes: readonly { number: number; version: string; startedAt: number }[];
}

export interface Counted {
  readonly health: Health & { readonly fleet: FleetPart };
  /** Accounts that the provider has told to wait. */
  readonly toldToWait: number;
  /** For how long the oldest one is due that is overdue; 0: none is. */
  readonly oldestDueMs: number;
}

const COUNT = `
SELECT count(*) AS accounts, count(*) FILTER (WHERE paused) AS paused, count(*) FILTER (WHERE fails) AS failing,
  coalesce(max(failures) FILTER (WHERE NOT paused), 0) AS failures_in_a_row,
  count(*) FILTER (WHERE late) AS overdue, min(due_at) FILTER (WHERE late) AS "oldestDueAt",
  count(*) FILTER (WHERE retry_after > now()) AS "toldToWait",
  max(last_poll_at) AS "lastPollAt", max(last_success_at) AS "lastSuccessAt",
  min(poll_at) FILTER (WHERE NOT paused) AS "nextPollAt",
  coalesce(sum(requests_today) FILTER (WHERE counted_on = (now() AT TIME ZONE $2)::date), 0) AS requests_today,
  coalesce(sum(logins_today) FILTER (WHERE counted_on = (now() AT TIME ZONE $2)::date), 0) AS logins_today,
  (SELECT coalesce(json_agg(c), '[]') FROM (SELECT last_error AS code, count(*) AS accounts FROM heat2mqtt.account
    WHERE failures > 0 AND NOT paused GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10) c) AS codes,
  (SELECT coalesce(json_agg(p), '[]') FROM (SELECT number, version, (extract(epoch FROM started_at) * 1000)::bigint AS "startedAt"
    FROM heat2mqtt.process WHERE seen_at > now() - make_interval(secs => $1) ORDER BY number) p) AS processes,
  (SELECT nullif(greatest(asked_at + interval '5 minutes', now()), now()) FROM heat2mqtt.fleet) AS "pollNowAt",
  (SELECT nullif(greatest(paused_until, now()), now()) FROM heat2mqtt.fleet) AS "pausedUntil", now() AS now
FROM (SELECT *, failures > 0 AND NOT paused AS fails,
  NOT paused AND due_at < now() - make_interval(secs => $1) AND retry_after <= now() AS late FROM heat2mqtt.account) a`;

/** Rejects with DatabaseTrouble. */
export async function readHealth(database: Database, claimSeconds: number, zone: Zone): Promise<Counted> {
  const [row] = await database.query<CountRow>(COUNT, [claimSeconds, zone.name]);
  if (row === undefined) throw new TypeError('a count without a row');
  const instant = (at: number | null) => (at === null ? null : zone.iso(at));
  const { accounts, paused, failing, overdue, oldestDueAt, toldToWait, now } = row;
  const { failures_in_a_row, requests_today, logins_today } = row;
  const processes = row.processes.map(({ startedAt, ...process }) => ({
    ...process,
    started_at: zone.iso(startedAt),
  }));
  const known = {
    reasons: reasonsOf(row, zone),
    auth: {},
    progress: [],
    statistics: null,
    last_poll_at: instant(row.lastPollAt),
    last_success_at: instant(row.lastSuccessAt),
    next_poll_at: instant(row.nextPollAt),
    poll_now_at: instant(row.pollNowAt),
    failures_in_a_row,
    requests_today,
    logins_today,
  };
  const fleet = { processes, accounts, paused, failing, overdue, oldest_due_at: instant(oldestDueAt) };
  const isSomeAccountWell = accounts - paused > failing || accounts === 0;
  const health = { ...healthOf(known, isSomeAccountWell), fleet };
  return { health, toldToWait, oldestDueMs: oldestDueAt === null ? 0 : now - oldestDueAt };
}

function reasonsOf({ codes, overdue, toldToWait, pausedUntil }: CountRow, zone: Zone): Reason[] {
  const pause = pausedUntil && {
    code: 'provider_pause',
    message: `The provider has asked for a pause of all accounts, until ${zone.iso(pausedUntil)}.`,
  };
  const waiting = toldToWait > 0 && {
    code: 'accounts_told_to_wait',
    message: `The provider has told ${countWords(toldToWait, 'account')} to wait.`,
  };
  const late = overdue > 0 && {
    code: 'overdue',
    message: `${countWords(overdue, 'account')} waited for longer than a claim lasts.`,
    hint: 'Poll less often, allow more requests, or start one more process of the fleet.',
  };
  const failing = codes.map(({ code, accounts }) => ({
    code,
    message: `${countWords(accounts, 'account')}: the last poll failed (${code}).`,
    hint: '`heat2mqtt accounts list --failing` tells which, and what to do.',
  }));
  return [pause, waiting, ...failing, late].flatMap((reason) => reason || []);
}

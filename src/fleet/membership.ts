// The processes of a fleet: each has a number, tells the database every two seconds that it lives, and hears how the fleet is: for
// how many requests that leaves room, whether the provider has asked for a pause, and who keeps what is there once.
import { randomUUID } from 'node:crypto';
import type { Fleet } from '../config/schema.ts';
import type { Reason } from '../domain/health.ts';
import type { Zone } from '../domain/period.ts';
import { about } from '../foundation/about.ts';
import { EXIT, failure } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import { retryAfterMs } from '../foundation/retry.ts';
import type { Gate } from '../http/client.ts';
import { type Health, healthOf } from '../publication/messages.ts';
import type { ClaimedAccount } from '../store/database/claimedAccount.ts';
import type { Claims } from '../store/database/claims.ts';
import { type Database, DatabaseTrouble, type SharedClock } from '../store/database/database.ts';
import type { OpenFleet } from './open.ts';
import { countWords } from './roster.ts';

const KEEPER_MS = 10_000;
/** After so long without an answer the database counts as gone, and everything that looks at the fleet is told. */
const DATABASE_GONE_MS = 30_000;
const BEATS_FOR_A_COUNT = 5;
// SQLSTATE: a unique key that is there already.
const TAKEN = '23505';
const isTaken = (err: unknown) => err instanceof DatabaseTrouble && err.reason === TAKEN;

/** The provider has asked for a pause of all accounts. */
const fleetPaused = (retryAfterMs: number) =>
  failure('fleet_paused', 'The provider has asked for a pause.', {
    exit: EXIT.provider,
    retry: 'later',
    retryAfterMs,
  });

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
SELECT (SELECT number FROM me) AS number, (SELECT mine FROM keeping) AS "isKeeper",
  1 + (SELECT count(*) FROM heat2mqtt.process WHERE id <> $1 AND seen_at > now() - make_interval(secs => $4)) AS processes,
  greatest(0, extract(epoch FROM paused_until - now()) * 1000)::float8 AS "pausedMs",
  (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now
FROM heat2mqtt.fleet`;

interface Heard {
  readonly number: number;
  readonly isKeeper: boolean | null;
  readonly processes: number;
  readonly pausedMs: number;
  readonly now: number;
}

export type Membership = Awaited<ReturnType<typeof joinFleet>>;

/** Takes a number, and sets the clock to the database's time. Rejects with DatabaseTrouble. */
export async function joinFleet(
  opened: Pick<OpenFleet, 'database' | 'readSecretsAgain'>,
  fleet: Pick<Fleet, 'claim_seconds' | 'requests_per_second'>,
  { clock, zone, log }: { readonly clock: SharedClock; readonly zone: Zone; readonly log: Log },
) {
  const { database } = opened;
  const id = randomUUID();
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let nextAt = Number.NEGATIVE_INFINITY;
  /** When accounts were told to wait. */
  const toldToWait = new Map<string, number>();
  let beats = 0;
  /** Why the database did not answer last; `null`: it did. */
  let trouble: { readonly fault: unknown; readonly failuresInARow: number } | null = null;
  let counted: Counted | null = null;
  let heard = await ask(null);

  async function ask(number: number | null): Promise<Heard & { readonly askedAt: number }> {
    const askedAt = clock.monotonic();
    const [row] = await database
      .query<Heard>(BEAT, [id, number, about.version, KEEPER_MS / 1000])
      // Another one that starts at this moment was faster.
      .catch((err) => (number === null && isTaken(err) ? [] : Promise.reject(err)));
    if (row === undefined) return ask(number);
    clock.set(row.now);
    pause(row.pausedMs);
    return { ...row, askedAt };
  }

  const silentMs = () => clock.monotonic() - heard.askedAt;
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
    counted = await readHealth(database, fleet.claim_seconds, zone);
    return counted;
  }

  return {
    id,
    number: heard.number,
    /** One process at a time, and none for some seconds after one has died. */
    isKeeper: (): boolean => heard.isKeeper === true && silentMs() < KEEPER_MS,
    isDatabaseGone: (): boolean => silentMs() > DATABASE_GONE_MS,
    trouble: () => trouble,
    /** As it was counted last; `null`: not yet. */
    counted: () => counted,
    count,
    /** For how long no request of any account may be sent. */
    pausedMs,

    /** What stands before each request of an account: the pace, a pause and, before a token, the claim. */
    gateOf:
      (claim: ClaimedAccount, claims: Pick<Claims, 'renew'>) =>
      (to: 'issuer' | 'provider'): Gate => ({
        async enter() {
          claim.check();
          await turn(claim.signal);
          // What an account has met during a pause is no failure of its own.
          if (pausedMs() > 0) claim.stop(fleetPaused(pausedMs()));
          // A token is asked for while the account is ours, by the database, and stays so for a whole claim.
          else if (to === 'issuer') await claims.renew([claim]);
          claim.check();
          return claim.signal;
        },
        answered({ status, headers }) {
          const ms = ASKS_FOR_TIME.includes(status) && retryAfterMs(headers['retry-after'], clock.now());
          if (ms) noteWait(claim.id, ms);
        },
      }),

    /** To be called every two seconds. Rejects only when another process has taken the number while this one was stopped. */
    async beat(): Promise<void> {
      try {
        heard = await ask(heard.number);
        trouble = null;
        if (beats++ % BEATS_FOR_A_COUNT > 0) return;
        await opened.readSecretsAgain();
        await count();
      } catch (err) {
        if (isTaken(err)) throw err;
        trouble = { fault: err, failuresInARow: 1 + (trouble?.failuresInARow ?? 0) };
        // What was counted before is not told again as if it were new.
        beats = 0;
        log.debug({ err }, 'the database does not hear this process');
        await opened.readSecretsAgain().catch(() => undefined);
      }
    },

    /** Resolves to whether other processes live. */
    async leave(): Promise<boolean> {
      heard = { ...heard, isKeeper: false };
      const others = await database.query(
        `WITH me AS (DELETE FROM heat2mqtt.process WHERE id = $1),
        kept AS (UPDATE heat2mqtt.fleet SET keeper_until = 'epoch' WHERE keeper = $1)
        SELECT id FROM heat2mqtt.process WHERE id <> $1 AND seen_at > now() - make_interval(secs => $2)`,
        [id, KEEPER_MS / 1000],
      );
      return others.length > 0;
    },
  };
}

type FleetPart = NonNullable<Health['fleet']>;

/** As the database counts; the times in its JSON are text. */
interface CountRow {
  readonly health: Omit<
    Health,
    'state' | 'reasons' | 'auth' | 'progress' | 'statistics' | 'last_error' | 'fleet'
  >;
  readonly fleet: FleetPart;
  /** Accounts that the provider has told to wait. */
  readonly toldToWait: number;
  /** Epoch milliseconds; `null`: the provider has not asked all to wait. */
  readonly pausedUntil: number | null;
  /** For how long the oldest one is due that is overdue; 0: none is. */
  readonly oldestDueMs: number;
  readonly codes: readonly { readonly code: string; readonly accounts: number }[];
}

export interface Counted extends Pick<CountRow, 'toldToWait' | 'oldestDueMs'> {
  readonly health: Health & { readonly fleet: FleetPart };
}

const COUNT = `
SELECT json_build_object('last_poll_at', max(last_poll_at), 'last_success_at', max(last_success_at),
    'next_poll_at', min(poll_at) FILTER (WHERE NOT paused),
    'poll_now_at', (SELECT nullif(greatest(asked_at + interval '5 minutes', now()), now()) FROM heat2mqtt.fleet),
    'failures_in_a_row', coalesce(max(failures) FILTER (WHERE NOT paused), 0),
    'requests_today', coalesce(sum(requests_today) FILTER (WHERE counted_on = (now() AT TIME ZONE $2)::date), 0),
    'logins_today', coalesce(sum(logins_today) FILTER (WHERE counted_on = (now() AT TIME ZONE $2)::date), 0)) AS health,
  json_build_object('processes', (SELECT coalesce(json_agg(p), '[]') FROM (SELECT number, version, started_at
      FROM heat2mqtt.process WHERE seen_at > now() - make_interval(secs => $1) ORDER BY number) p),
    'accounts', count(*), 'paused', count(*) FILTER (WHERE paused), 'failing', count(*) FILTER (WHERE fails),
    'overdue', count(*) FILTER (WHERE late), 'oldest_due_at', min(due_at) FILTER (WHERE late)) AS fleet,
  count(*) FILTER (WHERE retry_after > now()) AS "toldToWait",
  (SELECT nullif(greatest(paused_until, now()), now()) FROM heat2mqtt.fleet) AS "pausedUntil",
  coalesce(extract(epoch FROM now() - min(due_at) FILTER (WHERE late)) * 1000, 0)::float8 AS "oldestDueMs",
  (SELECT coalesce(json_agg(c), '[]') FROM (SELECT last_error AS code, count(*) AS accounts FROM heat2mqtt.account
    WHERE failures > 0 AND NOT paused GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10) c) AS codes
FROM (SELECT *, failures > 0 AND NOT paused AS fails,
  NOT paused AND due_at < now() - make_interval(secs => $1) AND retry_after <= now() AS late FROM heat2mqtt.account) a`;

/** Rejects with DatabaseTrouble. */
export async function readHealth(database: Database, claimSeconds: number, zone: Zone): Promise<Counted> {
  const [row] = await database.query<CountRow>(COUNT, [claimSeconds, zone.name]);
  if (row === undefined) throw new TypeError('a count without a row');
  const inZone = (key: string, value: unknown) =>
    key.endsWith('_at') && typeof value === 'string' ? zone.iso(Date.parse(value)) : value;
  const told: Pick<CountRow, 'health' | 'fleet'> = JSON.parse(JSON.stringify(row), inZone);
  const { accounts, paused, failing } = told.fleet;
  const known = { reasons: reasonsOf(row, zone), auth: {}, progress: [], statistics: null, ...told.health };
  const health = healthOf(known, accounts - paused > failing || accounts === 0);
  return { ...row, health: { ...health, fleet: told.fleet } };
}

function reasonsOf({ codes, fleet: { overdue }, toldToWait, pausedUntil }: CountRow, zone: Zone): Reason[] {
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

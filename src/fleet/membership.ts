// The processes of a fleet: each has a number, tells the database every two seconds that it lives, and hears how the fleet is.
import { randomUUID } from 'node:crypto';
import type { FleetStatus, HealthRecord, Reason } from '../domain/health.ts';
import type { Zone } from '../domain/period.ts';
import { about } from '../foundation/about.ts';
import { EXIT, failure } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
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
  { clock, zone, claimSeconds, log }: { clock: SharedClock; zone: Zone; claimSeconds: number; log: Log },
) {
  const { database } = opened;
  const id = randomUUID();
  let keeperUntil = Number.NEGATIVE_INFINITY;
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let countedAt = Number.NEGATIVE_INFINITY;
  let askedAt = clock.monotonic();
  let heardAt = askedAt;
  /** Why the database did not answer last; `null`: it did. */
  let fault: unknown = null;
  let failuresInARow = 0;
  let health: FleetHealth | null = null;
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

  function pause(ms: number): void {
    pausedUntil = Math.max(pausedUntil, clock.monotonic() + ms);
  }

  async function count(): Promise<FleetHealth> {
    countedAt = clock.monotonic();
    health = await readHealth(database, claimSeconds, zone);
    return health;
  }

  return {
    id,
    number: heard.number,
    /** Processes that live. */
    processes: (): number => heard.processes,
    /** One process at a time, and none for some seconds after one has died. */
    isKeeper: (): boolean => clock.monotonic() < keeperUntil,
    isDatabaseGone: (): boolean => clock.monotonic() - heardAt > DATABASE_GONE_MS,
    trouble: () => ({ fault, failuresInARow }),
    /** As it was counted last; `null`: not yet. */
    health: () => health,
    count,
    /** Milliseconds since the last beat: proof that the event loop is alive. */
    ageMs: () => clock.monotonic() - askedAt,
    /** For how long no request of any account may be sent. */
    pausedMs: () => Math.max(0, pausedUntil - clock.monotonic()),

    /** All processes are to pause for so long. */
    pauseAll(ms: number): void {
      pause(ms);
      const text =
        'UPDATE heat2mqtt.fleet SET paused_until = greatest(paused_until, now() + make_interval(secs => $1))';
      database
        .query(text, [ms / 1000])
        .catch((err) => log.warn({ err }, 'the others could not be told of the pause'));
    },

    /** To be called every two seconds. Rejects with number_taken only. */
    async beat(): Promise<void> {
      try {
        heard = await ask(heard.number);
        fault = null;
        failuresInARow = 0;
        if (askedAt - countedAt < COUNT_EVERY_MS) return;
        await opened.readSecretsAgain();
        await count();
      } catch (err) {
        if (isTaken(err)) throw numberTaken(heard.number);
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

const numberTaken = (number: number) =>
  failure(
    'number_taken',
    `Another process has become number ${number} of the fleet while this one was stopped.`,
    {
      exit: EXIT.unexpected,
      retry: 'later',
      hint: 'It ends, and whatever supervises it starts it anew.',
    },
  );

/** Times in epoch milliseconds, by the database. */
type Counted = FleetStatus &
  Omit<HealthRecord, 'auth' | 'reasons' | 'progress' | 'statistics' | 'isSomeAccountWell' | 'fleet'> & {
    /** Accounts whom the provider has told to wait. */
    readonly toldToWait: number;
    /** `null`: the provider has not asked all to wait. */
    readonly pausedUntil: number | null;
    readonly now: number;
    readonly codes: readonly { readonly code: string; readonly accounts: number }[];
  };

export type FleetHealth = HealthRecord & { readonly fleet: Counted };

const COUNT = `
SELECT count(*) AS accounts, count(*) FILTER (WHERE paused) AS paused, count(*) FILTER (WHERE fails) AS failing,
  coalesce(max(failures) FILTER (WHERE NOT paused), 0) AS "failuresInARow",
  count(*) FILTER (WHERE late) AS overdue, min(due_at) FILTER (WHERE late) AS "oldestDueAt",
  count(*) FILTER (WHERE retry_after > now()) AS "toldToWait",
  max(last_poll_at) AS "lastPollAt", max(last_success_at) AS "lastSuccessAt",
  min(poll_at) FILTER (WHERE NOT paused) AS "nextPollAt",
  coalesce(sum(requests_today) FILTER (WHERE counted_on = (now() AT TIME ZONE $2)::date), 0) AS "requestsToday",
  coalesce(sum(logins_today) FILTER (WHERE counted_on = (now() AT TIME ZONE $2)::date), 0) AS "loginsToday",
  (SELECT coalesce(json_agg(c), '[]') FROM (SELECT last_error AS code, count(*) AS accounts FROM heat2mqtt.account
    WHERE failures > 0 AND NOT paused GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10) c) AS codes,
  (SELECT coalesce(json_agg(p), '[]') FROM (SELECT number, version, (extract(epoch FROM started_at) * 1000)::bigint AS "startedAt"
    FROM heat2mqtt.process WHERE seen_at > now() - make_interval(secs => $1) ORDER BY number) p) AS processes,
  (SELECT nullif(greatest(asked_at + interval '5 minutes', now()), now()) FROM heat2mqtt.fleet) AS "pollNowAt",
  (SELECT nullif(greatest(paused_until, now()), now()) FROM heat2mqtt.fleet) AS "pausedUntil", now() AS now
FROM (SELECT *, failures > 0 AND NOT paused AS fails,
  NOT paused AND due_at < now() - make_interval(secs => $1) AND retry_after <= now() AS late FROM heat2mqtt.account) a`;

/** Rejects with DatabaseTrouble. */
export async function readHealth(database: Database, claimSeconds: number, zone: Zone): Promise<FleetHealth> {
  const [counted] = await database.query<Counted>(COUNT, [claimSeconds, zone.name]);
  if (counted === undefined) throw new TypeError('a count without a row');
  const { accounts, paused, failing } = counted;
  return {
    ...counted,
    isSomeAccountWell: accounts - paused > failing || accounts === 0,
    auth: {},
    reasons: reasonsOf(counted, zone),
    progress: [],
    statistics: null,
    fleet: counted,
  };
}

function reasonsOf({ codes, overdue, toldToWait, pausedUntil }: Counted, zone: Zone): Reason[] {
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

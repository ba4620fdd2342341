// The pace limits this process's requests to issuer and provider, and pauses those of the whole fleet: it stands before
// each request.
import { EXIT, failure } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import { retryAfterMs } from '../foundation/retry.ts';
import type { Gate } from '../http/client.ts';
import type { Claim } from '../store/database/claim.ts';
import type { Claims } from '../store/database/claims.ts';
import type { Database, SharedClock } from '../store/database/database.ts';

export const FLEET_PAUSED = 'fleet_paused';

/** The provider has asked for a pause of all accounts. */
const fleetPaused = (retryAfterMs: number) =>
  failure(FLEET_PAUSED, 'The provider has asked for a pause.', {
    exit: EXIT.provider,
    retry: 'later',
    retryAfterMs,
  });

// Too many requests; service unavailable.
const ASKS_FOR_TIME = [429, 503];
// Three accounts that are told to wait within a minute are not meant one by one.
const ACCOUNTS_THAT_ARE_ALL = 3;
const TOGETHER_MS = 60_000;

interface Tools {
  readonly database: Database;
  readonly clock: SharedClock;
  readonly log: Log;
}

export class Pace {
  readonly #tools: Tools;
  readonly #requestsPerSecond: number;
  /** The processes that share the pace. */
  #processes = 1;
  /** A moment on the monotonic clock. */
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #nextAt = Number.NEGATIVE_INFINITY;
  /** Accounts by the moment at which they were told to wait. */
  readonly #toldToWait = new Map<string, number>();

  /** `requestsPerSecond`: of all processes together. */
  constructor(requestsPerSecond: number, tools: Tools) {
    this.#requestsPerSecond = requestsPerSecond;
    this.#tools = tools;
  }

  /** The database's view of the fleet: each process that lives has the same part. */
  hear(processes: number, pausedMs: number): void {
    this.#processes = processes;
    this.#pause(pausedMs);
  }

  /** No request of any account may be sent for so long. */
  pausedMs(): number {
    return Math.max(0, this.#pausedUntil - this.#tools.clock.monotonic());
  }

  /** The gates before each request of an account: the pace, a pause and, before a token, the claim of the present run. */
  gateTo(to: 'issuer' | 'provider', present: () => Claim, claims: Pick<Claims, 'renew'>): Gate {
    return {
      enter: async () => {
        const claim = present();
        claim.check();
        await this.#turn(claim.signal);
        // A refusal during a pause is no failure of the account's own.
        if (this.pausedMs() > 0) claim.stop(fleetPaused(this.pausedMs()));
        // A token is asked for while the account is ours, by the database, and stays so for a whole claim.
        // Where the database cannot say, the account must not pay for it: to the session it would look like an issuer that is away.
        else if (to === 'issuer') await claims.renew([claim]).catch((err) => claim.stop(err));
        claim.check();
        return claim.signal;
      },
      answered: ({ status, headers }) => {
        if (!ASKS_FOR_TIME.includes(status)) return;
        const ms = retryAfterMs(headers['retry-after'], this.#tools.clock.now());
        if (ms) this.#noteWait(present().id, ms);
      },
    };
  }

  /** Resolves when one request may be sent. */
  async #turn(signal: AbortSignal): Promise<void> {
    const { clock } = this.#tools;
    const now = clock.monotonic();
    const at = Math.max(this.#nextAt, now);
    this.#nextAt = at + (1000 * this.#processes) / this.#requestsPerSecond;
    if (at > now) await clock.sleep(at - now, signal);
  }

  #pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#tools.clock.monotonic() + ms);
  }

  /** The provider has told this account to wait: it is taken as said to all where it was said to several. */
  #noteWait(account: string, ms: number): void {
    const { clock, log, database } = this.#tools;
    const now = clock.monotonic();
    this.#toldToWait.set(account, now);
    for (const [id, at] of this.#toldToWait) if (now - at > TOGETHER_MS) this.#toldToWait.delete(id);
    const isAboutAll = this.#toldToWait.size >= ACCOUNTS_THAT_ARE_ALL;
    const whom = isAboutAll ? 'all accounts' : 'this account';
    log.warn({ account, seconds: Math.round(ms / 1000) }, `the provider asks ${whom} to wait`);
    if (!isAboutAll) return;
    this.#pause(ms);
    const text =
      'UPDATE heat2mqtt.fleet SET paused_until = greatest(paused_until, now() + make_interval(secs => $1))';
    database
      .query(text, [ms / 1000])
      .catch((err) => log.warn({ err }, 'the others could not be told of the pause'));
  }
}

// The state of one account for a command: read as it is now, and changed under a claim of the command's own.
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../foundation/clock.ts';
import { EXIT, Failure } from '../../foundation/failure.ts';
import type { Codec, Document, StateStore } from '../stateStore.ts';
import { ClaimedState } from './claimedState.ts';
import { type Claim, Claims, FenceLost, GIVEN_BACK } from './claims.ts';
import type { Database } from './database.ts';
import { KeptDocuments } from './keptDocuments.ts';
import type { Seal } from './seal.ts';

class AccountBusy extends Failure {
  readonly code = 'account_busy';
  readonly exitCode = EXIT.unexpected;

  constructor(account: string) {
    super(`A process of the fleet works on ${account}, and has not come to its end.`, {
      retry: 'soon',
      hint: 'Try again in a few minutes: a first history takes some.',
    });
  }
}

const LOOK_MS = 500;
const LONGEST_WAIT_MS = 120_000;
const RENEWALS = 6;

interface Parts {
  readonly account: string;
  readonly database: Database;
  readonly seal: Seal;
  readonly clock: Clock;
  readonly claimSeconds: number;
  /** Ends the wait for the account. */
  readonly interrupted: AbortSignal;
}

export class VisitedState implements StateStore {
  /** What could not be written. */
  fault: Failure | null = null;
  readonly claims: Claims;
  readonly #parts: Parts;
  #held: { readonly claim: Claim; readonly state: ClaimedState } | null = null;
  /** As it was when it was read first since the last claim. */
  #kept: Promise<KeptDocuments> | null = null;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.claims = new Claims(parts.database, randomUUID(), parts.claimSeconds, parts.clock);
  }

  get claim(): Claim | null {
    return this.#held?.claim ?? null;
  }

  /** What the meter of a property is called in topics; undefined: another account reads it. */
  async seriesName(property: string): Promise<string | undefined> {
    return (await this.#read()).series(property)?.name;
  }

  document<T>(path: string, codec: Codec<T>): Document<T> {
    const change = async (step: (document: Document<T>) => Promise<void>) => {
      try {
        if (this.#held === null) throw new FenceLost();
        await step(this.#held.state.document(path, codec));
      } catch (err) {
        if (err instanceof Failure) this.fault = err;
        throw err;
      }
    };
    return {
      read: async () => {
        if (this.#held !== null) return this.#held.state.document(path, codec).read();
        const kept = await this.#read();
        const json = kept.json(kept.nameOf(path));
        return json === undefined ? null : codec.decode(json);
      },
      write: (value) => change((document) => document.write(value)),
      remove: () => change((document) => document.remove()),
    };
  }

  async list(): Promise<string[]> {
    return [...(await this.#read()).stored.keys()];
  }

  /** Waits until no process works on the account, and keeps it from them until the step has ended. Rejects with a Failure. */
  async withLock<T>(_name: string, _clock: Clock, step: (isHeld: boolean) => Promise<T>): Promise<T> {
    const claim = await this.#claim();
    const over = new AbortController();
    const renewing = this.#renew(claim, over.signal);
    try {
      const state = await ClaimedState.open({ ...this.#parts, claim });
      this.#held = { claim, state };
      const result = await step(true);
      await state.commit(GIVEN_BACK, [], []);
      return result;
    } catch (err) {
      await this.#giveBack(claim).catch(() => undefined);
      throw err;
    } finally {
      over.abort();
      await renewing;
      this.claims.forget(claim);
      this.#held = null;
      this.#kept = null;
    }
  }

  async retry(): Promise<void> {}
  async unlock(): Promise<void> {}

  #read(): Promise<KeptDocuments> {
    const { account, database, seal } = this.#parts;
    this.#kept ??= KeptDocuments.read(account, database, seal);
    return this.#kept;
  }

  async #claim(): Promise<Claim> {
    const { account, clock, interrupted } = this.#parts;
    const began = clock.monotonic();
    for (;;) {
      const [claim] = await this.claims.raise([account]);
      if (claim !== undefined) return claim;
      if (clock.monotonic() - began >= LONGEST_WAIT_MS || interrupted.aborted) throw new AccountBusy(account);
      await clock.sleep(LOOK_MS, interrupted);
    }
  }

  /** A person may take minutes to type a code. */
  async #renew(claim: Claim, over: AbortSignal): Promise<void> {
    const { clock, claimSeconds } = this.#parts;
    while (!over.aborted && claim.remainingMs() > 0) {
      await clock.sleep((claimSeconds * 1000) / RENEWALS, over);
      // A statement that fails is repeated; unless one succeeds, the claim ends by itself.
      if (!over.aborted) await this.claims.renew([claim]).catch(() => undefined);
    }
  }

  async #giveBack({ account, row }: Claim): Promise<void> {
    const { database } = this.#parts;
    await database.query(`UPDATE heat2mqtt.account SET ${GIVEN_BACK} WHERE id = $1 AND fence = $2`, [
      account,
      row.fence,
    ]);
  }
}

// Moves a household into a fleet: its accounts, and of each everything that its state directory keeps.
import { randomUUID } from 'node:crypto';
import type { Account } from '../../config/schema.ts';
import { seriesName, topicSafe } from '../../domain/reading.ts';
import type { Clock } from '../../foundation/clock.ts';
import { EXIT, Failure } from '../../foundation/failure.ts';
import { ClaimedState } from '../../store/database/claimedState.ts';
import { type Claim, Claims, GIVEN_BACK } from '../../store/database/claims.ts';
import {
  contextCodec,
  extrasCodec,
  journalCodec,
  loginBudgetCodec,
  tokensCodec,
  wayInCodec,
} from '../../store/documents.ts';
import { ledgerCodec } from '../../store/ledgerDocument.ts';
import type { Codec, StateStore } from '../../store/stateStore.ts';
import type { OpenFleet } from '../open.ts';
import { type Login, loginPlace } from '../work/accountRun.ts';

/** Ids, by what became of them. */
export interface Moved {
  readonly moved: readonly string[];
  /** The fleet has worked on these already: what it has is newer. */
  readonly known: readonly string[];
}

class NotMovable extends Failure {
  readonly code = 'not_movable';
  readonly exitCode = EXIT.usage;

  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'), { retry: 'never', hint: 'Nothing was changed.' });
  }
}

const DOCUMENTS: Readonly<Record<string, Codec<unknown>>> = {
  'login-budget': loginBudgetCodec,
  'way-in': wayInCodec,
  context: contextCodec,
  extras: extrasCodec,
  tokens: tokensCodec,
};

export class Moving {
  readonly #parts: OpenFleet & { readonly household: StateStore; readonly clock: Clock };
  readonly #claims: Claims;

  constructor(
    parts: OpenFleet & { readonly household: StateStore; readonly clock: Clock },
    claimSeconds: number,
  ) {
    this.#parts = parts;
    this.#claims = new Claims(parts.database, randomUUID(), claimSeconds, parts.clock);
  }

  /**
   * No daemon may use the household meanwhile. Its tokens are removed from there: whoever used them beside the fleet would
   * end the session. Twice is harmless. Rejects with a Failure.
   */
  async move(accounts: readonly Account[]): Promise<Moved> {
    const taken = await this.#takenIds(accounts);
    refuseUnmovable(accounts, taken);
    const { household, jobs } = this.#parts;
    const moved: string[] = [];
    for (const account of accounts) {
      if (await this.#moveOne(account)) moved.push(account.id);
      await household.document(`accounts/${account.id}/tokens`, tokensCodec).remove();
    }
    await jobs.wake(moved);
    return { moved, known: accounts.flatMap(({ id }) => (moved.includes(id) ? [] : [id])) };
  }

  /** Those that an account of another login has in the fleet. */
  async #takenIds(accounts: readonly Account[]): Promise<string[]> {
    const { database, seal } = this.#parts;
    const rows = await database.query<{ id: string; login: Buffer; removed: boolean }>(
      'SELECT id, login, removed FROM heat2mqtt.account WHERE id = ANY($1)',
      [accounts.map(({ id }) => id)],
    );
    const isOther = ({ id, login, removed }: (typeof rows)[number]) => {
      const { username } = seal.open(loginPlace(id), login) as Login;
      return removed || !accounts.some((one) => one.id === id && one.username === username);
    };
    return rows.filter(isOther).map(({ id }) => id);
  }

  async #moveOne({ id, username, password }: Account): Promise<boolean> {
    const { database, seal, clock } = this.#parts;
    const login: Login = { username, password: (await password?.read()) ?? '' };
    // Nobody looks for it: it has no job until it is complete.
    await database.query(
      `INSERT INTO heat2mqtt.account (id, login, due_at, poll_at)
      VALUES ($1, $2, now() + interval '1 hour', now() + interval '1 hour') ON CONFLICT DO NOTHING`,
      [id, seal.close(loginPlace(id), login)],
    );
    const [unused] = await database.query(
      'SELECT id FROM heat2mqtt.account WHERE id = $1 AND last_poll_at IS NULL AND NOT removed',
      [id],
    );
    const [claim] = unused === undefined ? [] : await this.#claims.raise([id]);
    if (claim === undefined) return false;
    try {
      await this.#fill(claim, await ClaimedState.open({ claim, database, seal, clock }));
    } finally {
      this.#claims.forget(claim);
    }
    return true;
  }

  async #fill(claim: Claim, state: ClaimedState): Promise<void> {
    const { household } = this.#parts;
    const id = claim.account;
    const folder = `accounts/${id}`;
    const names = await household.list(folder);
    const properties =
      (await household.document(`${folder}/context`, contextCodec).read())?.value.properties ?? [];
    const plain = properties.map((one) => ({ property: one.propertyCustomerId, name: seriesName(one) }));
    const read = plain.filter(({ property }) => names.includes(`ledger-${encodeURIComponent(property)}`));
    await state.claimSeries(read);
    await state.claimSeries(
      read.map(({ property, name }) => ({ property, name: `${name}-${topicSafe(property)}` })),
    );
    const ledgers = Object.fromEntries(
      names.filter((name) => name.startsWith('ledger-')).map((name) => [name, ledgerCodec]),
    );
    const copy = async (name: string, codec: Codec<unknown>) => {
      const found = await household.document(`${folder}/${name}`, codec).read();
      if (found !== null) await state.document(`${folder}/${name}`, codec).write(found);
    };
    // Tokens come last: they are kept at once, and all else with the commit.
    for (const [name, codec] of Object.entries({ ...ledgers, ...DOCUMENTS })) await copy(name, codec);
    const record = (await household.document('journal', journalCodec).read())?.accounts[id];
    if (record !== undefined)
      await state.document('journal', journalCodec).write({ accounts: { [id]: record } });
    await state.commit(
      `${GIVEN_BACK}, due_at = now(), poll_at = now(),
      last_poll_at = to_timestamp($3 / 1000.0), last_success_at = to_timestamp($4 / 1000.0)`,
      [record?.lastPollAt ?? null, record?.lastSuccessAt ?? null],
      [],
    );
  }
}

function refuseUnmovable(accounts: readonly Account[], taken: readonly string[]): void {
  const mistakes = accounts.flatMap(({ id, password, totp_secret: totp }) => [
    ...(password === undefined
      ? [`accounts ${id}: found no password; allowed: one with which the fleet signs in by itself`]
      : []),
    ...(taken.includes(id)
      ? [`accounts ${id}: found this id in the fleet, of another login or being removed; allowed: a free one`]
      : []),
    ...(totp ? [`accounts ${id}: found a totp_secret; allowed: none, a fleet signs in by password`] : []),
  ]);
  if (accounts.length === 0)
    mistakes.push('accounts: found none in the configuration; allowed: those that are to move');
  if (mistakes.length > 0) throw new NotMovable(mistakes);
}

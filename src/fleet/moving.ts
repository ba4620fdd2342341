// Moves a household into a fleet: its accounts, and of each everything that its state directory keeps.
import { randomUUID } from 'node:crypto';
import type { Account, Fleet } from '../config/schema.ts';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, failure } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import { AccountState } from '../store/database/accountState.ts';
import { type Claim, Claims } from '../store/database/claims.ts';
import { propertyOf } from '../store/database/documents.ts';
import { PLACES } from '../store/database/seal.ts';
import { contextCodec, journalCodec, tokensCodec } from '../store/documents.ts';
import type { Codec, StateStore } from '../store/stateStore.ts';
import type { OpenFleet } from './open.ts';
import { type Login, openLogin, wantedSeries } from './run.ts';

/** Ids, by what became of them. */
export interface Moved {
  readonly moved: readonly string[];
  /** The fleet has worked on these already: what it has is newer. */
  readonly known: readonly string[];
}

interface Parts {
  readonly opened: OpenFleet;
  readonly fleet: Fleet;
  readonly household: StateStore;
  readonly clock: Clock;
  readonly log: Log;
}

/** A document as it is, whatever it means. */
const AS_IT_IS: Codec<unknown> = { decode: (json) => json, encode: (json) => json };

/**
 * No daemon may use the household meanwhile. Its tokens are removed from there: used beside the fleet, they would end the
 * session. Twice is harmless. Rejects with a Failure.
 */
export async function moveHousehold(
  accounts: readonly Account[],
  isDry: boolean,
  parts: Parts,
): Promise<Moved> {
  const taken = await takenIds(accounts, parts.opened);
  refuseUnmovable(accounts, taken);
  const claims = new Claims(parts.opened.database, randomUUID(), parts.fleet.claim_seconds, parts.clock);
  const moved: string[] = [];
  const known: string[] = [];
  for (const account of accounts) {
    const isMoved = isDry ? !(await isInUse(account.id, parts)) : await moveOne(account, claims, parts);
    (isMoved ? moved : known).push(account.id);
    if (!isDry) await parts.household.document(`accounts/${account.id}/tokens`, tokensCodec).remove();
  }
  return { moved, known };
}

/** Those that an account of another login has in the fleet. */
async function takenIds(accounts: readonly Account[], { database, seal }: OpenFleet): Promise<string[]> {
  const rows = await database.query<{ id: string; login: Buffer; removed: boolean }>(
    'SELECT id, login, removed FROM heat2mqtt.account WHERE id = ANY($1)',
    [accounts.map(({ id }) => id)],
  );
  const isOther = (row: (typeof rows)[number]) => {
    const { username } = openLogin(row, seal);
    return row.removed || !accounts.some((one) => one.id === row.id && one.username === username);
  };
  return rows.filter(isOther).map(({ id }) => id);
}

async function isInUse(account: string, { opened }: Parts): Promise<boolean> {
  const text = 'SELECT id FROM heat2mqtt.account WHERE id = $1 AND last_poll_at IS NOT NULL';
  return (await opened.database.query(text, [account])).length > 0;
}

async function moveOne(
  { id, username, password, ...account }: Account,
  claims: Claims,
  parts: Parts,
): Promise<boolean> {
  const { database, seal } = parts.opened;
  const login: Login = { username, password: (await password?.read()) ?? '' };
  // Not due before it is complete.
  await database.query(
    `INSERT INTO heat2mqtt.account (id, login, history_since, due_at)
    VALUES ($1, $2, $3, now() + interval '1 hour') ON CONFLICT DO NOTHING`,
    [id, seal.close(PLACES.login(id), login), account.history_since ?? null],
  );
  const claim = (await isInUse(id, parts)) ? null : await claims.takeOne(id);
  if (claim === null) return false;
  try {
    await fill(claim, parts);
  } finally {
    claims.forget(claim);
  }
  return true;
}

async function fill(claim: Claim, { opened, household, clock, log }: Parts): Promise<void> {
  const { account, row } = claim;
  const folder = `accounts/${account}`;
  const state = await AccountState.open({ claim, ...opened, clock, log });
  const properties =
    (await household.document(`${folder}/context`, contextCodec).read())?.value.properties ?? [];
  await state.takeSeries(properties.map(wantedSeries));
  const names = await household.list(folder);
  const areRead = names.some((name) => propertyOf(name) !== null);
  // Tokens come last: they are kept at once, and all else with the commit.
  for (const name of names.sort((one, other) => Number(one === 'tokens') - Number(other === 'tokens'))) {
    const json = await household.document(`${folder}/${name}`, AS_IT_IS).read();
    if (json !== null) await state.document(`${folder}/${name}`, AS_IT_IS).write(json);
  }
  const record = (await household.document('journal', journalCodec).read())?.accounts[account];
  if (record !== undefined)
    await state.document('journal', journalCodec).write({ accounts: { [account]: record } });
  const at = (time: number | null | undefined) => (time == null ? null : new Date(time));
  const columns = { last_poll_at: at(record?.lastPollAt), last_success_at: at(record?.lastSuccessAt) };
  await state.commit({ ...columns, first_history: !areRead, poll_at: new Date(clock.now()) }, [], {
    currency: null,
    nameOf: () => null,
  });
  const { answered, republished } = row;
  await state.giveBack({ dueAt: new Date(clock.now()), answered, republished }, {}, true);
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
  if (mistakes.length > 0)
    throw failure('not_movable', mistakes.join('\n'), {
      exit: EXIT.usage,
      retry: 'never',
      hint: 'Nothing was changed.',
    });
}

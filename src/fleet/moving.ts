// Moves a household into a fleet: its accounts, and of each everything that its state directory keeps.
import { randomUUID } from 'node:crypto';
import type { Account, Fleet } from '../config/schema.ts';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, failure } from '../foundation/failure.ts';
import { type ClaimedAccount, openClaims, propertyOf, readKept } from '../store/database/claims.ts';
import { contextCodec, journalCodec, tokensCodec } from '../store/documents.ts';
import type { StateStore } from '../store/stateStore.ts';
import type { OpenFleet } from './open.ts';
import { loginOf, sealLogin } from './roster.ts';
import { asItIs } from './run.ts';

interface Parts {
  readonly opened: OpenFleet;
  readonly fleet: Fleet;
  readonly household: StateStore;
  readonly clock: Clock;
}

interface Row {
  readonly id: string;
  readonly login: Buffer;
  readonly removed: boolean;
  /** The fleet has worked on it already: what it has is newer. */
  readonly isInUse: boolean;
}

/**
 * No daemon may use the household meanwhile. Its tokens are removed from there: used beside the fleet, they would end the
 * session. Twice is harmless. Resolves to the ids of those that were moved, and that the fleet knew. Rejects with a Failure.
 */
export async function moveHousehold(accounts: readonly Account[], isDry: boolean, parts: Parts) {
  const { opened, fleet, household, clock } = parts;
  const { database, seal } = opened;
  const rows = await database.query<Row>(
    `SELECT id, login, removed, last_poll_at IS NOT NULL AS "isInUse" FROM heat2mqtt.account WHERE id = ANY($1)`,
    [accounts.map(({ id }) => id)],
  );
  refuseUnmovable(accounts, rows, opened);
  const claims = openClaims({ ...opened, clock }, randomUUID(), fleet.claim_seconds);

  /** Resolves to false when a process of the fleet has it already. */
  async function move({ id, username, password, history_since }: Account): Promise<boolean> {
    const login = sealLogin(id, { username, password: (await password?.read()) ?? '' }, seal);
    // Not due before it is complete.
    await database.query(
      `INSERT INTO heat2mqtt.account (id, login, history_since, due_at)
      VALUES ($1, $2, $3, now() + interval '1 hour') ON CONFLICT DO NOTHING`,
      [id, login, history_since ?? null],
    );
    const claim = await claims.takeOne(id);
    if (claim === undefined) return false;
    await fill(claim, parts);
    return true;
  }

  const moved: string[] = [];
  const known: string[] = [];
  for (const account of accounts) {
    const isInUse = rows.some(({ id, isInUse }) => id === account.id && isInUse);
    const isMoved = !isInUse && (isDry || (await move(account)));
    (isMoved ? moved : known).push(account.id);
    if (isDry) continue;
    await household.document(`accounts/${account.id}/tokens`, tokensCodec).remove();
    if (household.fault !== null) throw household.fault;
  }
  return { moved, known };
}

async function fill(claim: ClaimedAccount, { opened, household, clock }: Parts): Promise<void> {
  const { id } = claim;
  const folder = `accounts/${id}`;
  claim.open(await readKept(opened.database, [id]));
  const context = await household.document(`${folder}/context`, contextCodec).read();
  await claim.takeSeries(context?.value.properties ?? []);
  const names = await household.list(folder);
  // Tokens come last: they are kept at once, and all else with the commit.
  for (const name of names.sort((one, other) => Number(one === 'tokens') - Number(other === 'tokens'))) {
    const json = await household.document(`${folder}/${name}`, asItIs()).read();
    if (json !== null) await claim.document(`${folder}/${name}`, asItIs()).write(json);
  }
  const record = (await household.document('journal', journalCodec).read())?.accounts[id];
  if (record !== undefined)
    await claim.document('journal', journalCodec).write({ accounts: { [id]: record } });
  const at = (time: number | null | undefined) => (time == null ? null : new Date(time));
  const now = new Date(clock.now());
  const columns = {
    last_poll_at: at(record?.lastPollAt),
    last_success_at: at(record?.lastSuccessAt),
    first_history: !names.some((name) => propertyOf(name) !== null),
    poll_at: now,
  };
  await claim.write(columns, { dueAt: now, isPolled: false, isPublished: false });
}

function refuseUnmovable(accounts: readonly Account[], rows: readonly Row[], { seal }: OpenFleet): void {
  const isTaken = ({ id, username }: Account) =>
    rows.some((row) => row.id === id && (row.removed || loginOf(row, seal)?.username !== username));
  const mistakes = accounts.flatMap((account) =>
    [
      account.password === undefined &&
        'found no password; allowed: one with which the fleet signs in by itself',
      isTaken(account) &&
        'found this id in the fleet, of another login or being removed; allowed: a free one',
      account.totp_secret && 'found a totp_secret; allowed: none, a fleet signs in by password',
    ].flatMap((words) => (words ? [`accounts ${account.id}: ${words}`] : [])),
  );
  if (accounts.length === 0)
    mistakes.push('accounts: found none in the configuration; allowed: those that are to move');
  if (mistakes.length > 0)
    throw failure('not_movable', mistakes.join('\n'), {
      exit: EXIT.usage,
      retry: 'never',
      hint: 'Nothing was changed.',
    });
}

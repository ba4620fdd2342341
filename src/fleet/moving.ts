// Moves a household into a fleet: its accounts, and of each everything that its state directory keeps.
import { randomUUID } from 'node:crypto';
import { knownMeters } from '../accounts/names.ts';
import type { Account, Fleet } from '../config/schema.ts';
import type { Property } from '../domain/reading.ts';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, failure } from '../foundation/failure.ts';
import type { Claim } from '../store/database/claim.ts';
import { openClaims } from '../store/database/claims.ts';
import { journalCodec, tokensCodec } from '../store/documents.ts';
import type { StateStore } from '../store/stateStore.ts';
import type { OpenFleet } from './open.ts';
import { asItIs } from './publishing.ts';
import { loginOf, sealLogin } from './roster.ts';

interface MovingParts {
  readonly opened: OpenFleet;
  readonly fleet: Fleet;
  readonly household: StateStore;
  readonly clock: Clock;
}

const UNTIL_ALL_ARE_MOVED_MS = 3_600_000;

/**
 * No daemon may use the household meanwhile. Its tokens are removed from there: used beside the fleet, they would end the
 * session. Twice is harmless. Resolves to how many were moved; the fleet knew the others. Rejects with a Failure.
 */
export async function moveHousehold(accounts: readonly Account[], isDry: boolean, parts: MovingParts) {
  const { opened, fleet, household, clock } = parts;
  const { database, seal } = opened;
  const rows = await database.query<{ id: string; login: Buffer; removed: boolean; last_poll_at: number }>(
    'SELECT id, login, removed, last_poll_at FROM heat2mqtt.account WHERE id = ANY($1)',
    [accounts.map(({ id }) => id)],
  );
  const rowOf = new Map(rows.map((row) => [row.id, row]));
  const mistakes = accounts.flatMap(({ id, username, password, totp_secret }) => {
    const row = rowOf.get(id);
    const isTaken = row && (row.removed || loginOf(row, seal)?.username !== username);
    return [
      !password && 'found no password; allowed: one with which the fleet signs in by itself',
      isTaken && 'found this id in the fleet, of another login or being removed; allowed: a free one',
      totp_secret && 'found a totp_secret; allowed: none, a fleet signs in by password',
    ].flatMap((words) => (words ? [`accounts ${id}: ${words}`] : []));
  });
  if (accounts.length === 0)
    mistakes.push('accounts: found none in the configuration; allowed: those that are to move');
  if (mistakes.length > 0)
    throw failure('not_movable', mistakes.join('\n'), {
      exit: EXIT.usage,
      retry: 'never',
      hint: 'Nothing was changed.',
    });
  // The fleet's documents are newer for an account on which it has worked already.
  if (isDry) return accounts.filter(({ id }) => rowOf.get(id)?.last_poll_at == null).length;

  const claims = openClaims({ ...opened, clock }, randomUUID(), fleet.claim_seconds);
  const meters = await knownMeters(household, { accounts: [...accounts], meters: {} });
  const moved: string[] = [];
  for (const { id, username, password, history_since } of accounts) {
    const login = sealLogin(id, username, (await password?.read()) ?? '', seal);
    const claim = await claims.takeNew(id, login, history_since ?? null);
    if (claim) {
      const isRead = ({ account, isOwn }: (typeof meters)[number]) => account === id && isOwn;
      const properties = meters.filter(isRead).map(({ property }) => property);
      await fill(claim, properties, parts);
      moved.push(id);
    }
    await household.document(`accounts/${id}/tokens`, tokensCodec).remove();
    if (household.fault !== null) throw household.fault;
  }
  // Only now: until then an account could take a meter whose ledger comes with another one.
  await database.query('UPDATE heat2mqtt.account SET due_at = now() WHERE id = ANY($1)', [moved]);
  return moved.length;
}

/** `properties`: those that the account reads, of which it has the ledgers. */
async function fill(
  claim: Claim,
  properties: readonly Property[],
  { household, clock }: MovingParts,
): Promise<void> {
  const { id } = claim;
  const folder = `accounts/${id}`;
  await claim.open();
  await claim.takeSeries(properties);
  const names = await household.list(folder);
  // Tokens come last: they are kept at once, and all else with the commit.
  for (const name of names.sort((one, other) => Number(one === 'tokens') - Number(other === 'tokens'))) {
    const json = await household.document(`${folder}/${name}`, asItIs()).read();
    if (json !== null) await claim.stored.document(`${folder}/${name}`, asItIs()).write(json);
  }
  const record = (await household.document('journal', journalCodec).read())?.accounts[id];
  if (record) await claim.stored.document('journal', journalCodec).write({ accounts: { [id]: record } });
  const now = clock.now();
  const at = (time: number | null = null) => time && new Date(time);
  const columns = {
    last_poll_at: at(record?.lastPollAt),
    last_success_at: at(record?.lastSuccessAt),
    first_history: !names.some((name) => name.startsWith('ledger-')),
    poll_at: new Date(now),
  };
  const dueAt = new Date(now + UNTIL_ALL_ARE_MOVED_MS);
  await claim.write(columns, { dueAt, isPolled: false, isPublished: false });
}

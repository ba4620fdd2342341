// Which account reads which meter. Of several that have it, the first one of the configuration that is signed in, or can be; it is chosen
// before each round, so that no account waits for another. The ledger stays with the account that found the meter first.
import type { DaySpan } from '../domain/period.ts';
import type { Account, AccountOutcome } from './account.ts';
import type { Meter } from './meter.ts';

/** Whether the account may be asked to read in this round. */
type IsUsable = (account: Account) => boolean;

/** `accounts`: all of the configuration, in its order. Each is to read these meters in the coming round, and no others that are known. */
export function chooseReaders(
  accounts: readonly Account[],
  isUsable: IsUsable = (account) => account.isUsable,
): ReadonlyMap<Account, readonly Meter[]> {
  const chosen = new Map<Account, Meter[]>(accounts.map((account) => [account, []]));
  const others = accountsByMeter(accounts);
  for (const owner of accounts)
    for (const meter of owner.meters ?? []) {
      const reader = inOrder(accounts, owner, others.get(meter) ?? []).find(isUsable) ?? owner;
      chosen.get(reader)?.push(meter);
    }
  return chosen;
}

/**
 * Meters whose reader failed in this round are read by the next account that was polled and did not fail. `outcomes`: of the round.
 * Never rejects: what these cannot read either is told as the fault of the first.
 */
export async function readInstead(
  accounts: readonly Account[],
  outcomes: readonly AccountOutcome[],
  signal: AbortSignal,
  again?: DaySpan,
): Promise<AccountOutcome[]> {
  const unread = outcomes.flatMap((outcome) => outcome.unread);
  if (unread.length === 0) return [];
  const well = new Set(outcomes.filter(({ fault }) => fault === null).map(({ account }) => account));
  const others = accountsByMeter(accounts);
  const found: AccountOutcome[] = [];
  for (const meter of unread) {
    const owner = accounts.find(({ id }) => id === meter.account);
    const candidates = owner === undefined ? [] : inOrder(accounts, owner, others.get(meter) ?? []);
    for (const candidate of candidates.filter(({ id }) => well.has(id))) {
      const outcome = await candidate.readInstead(meter, signal, again);
      if (outcome.fault !== null) continue;
      found.push(outcome);
      break;
    }
  }
  return found;
}

/** The accounts beside its owner that have the same meter. */
function accountsByMeter(accounts: readonly Account[]): ReadonlyMap<Meter, readonly Account[]> {
  const found = new Map<Meter, Account[]>();
  for (const account of accounts)
    for (const meter of account.sharedMeters()) found.set(meter, [...(found.get(meter) ?? []), account]);
  return found;
}

function inOrder(
  accounts: readonly Account[],
  owner: Account,
  others: readonly Account[],
): readonly Account[] {
  // Nearly all meters have one account.
  if (others.length === 0) return [owner];
  return accounts.filter((account) => account === owner || others.includes(account));
}

// What the log tells of an account that has been polled: its new and corrected days, in amounts that a person cares about.

import type { Account, AccountOutcome } from '../../accounts/account.ts';
import type { MeterEvent } from '../../accounts/context.ts';
import { knownUnits } from '../../domain/amount.ts';
import type { Change } from '../../domain/ledger.ts';
import type { Log } from '../../foundation/log.ts';

// More come at once only after a long outage or a backfill.
const MOST_NAMED = 7;

export function tellPolled(account: Account, outcome: AccountOutcome, log: Log): void {
  tellChanges(account, outcome, log);
  const newest = account.meters
    ?.flatMap((meter) => meter.view()?.totals.newestDay ?? [])
    .sort()
    .at(-1);
  log.info({ account: account.id, ...countsOf(outcome.events), newestDay: newest ?? null }, 'polled');
}

export function tellChanges(
  { id, meters, extras }: Pick<Account, 'id' | 'meters' | 'extras'>,
  { events }: AccountOutcome,
  log: Log,
): void {
  for (const { meter, change } of events.slice(-MOST_NAMED)) {
    const called = meters?.find(({ name }) => name === meter)?.friendlyName;
    const about = { account: id, meter, ...(called ? { called } : {}) };
    if (change.kind === 'tariff_changed') log.info({ ...about, from: change.after.from }, 'tariff changed');
    else
      log.info(
        { ...about, ...amountsOf(change), currency: extras.currency },
        change.kind === 'new_day' ? 'new day' : 'day corrected',
      );
  }
}

/** Only what there was. */
export function countsOf(events: readonly MeterEvent[]): { newDays?: number; correctedDays?: number } {
  const count = (kind: Change['kind']) => events.filter(({ change }) => change.kind === kind).length;
  const [newDays, correctedDays] = [count('new_day'), count('corrected')];
  return { ...(newDays > 0 ? { newDays } : {}), ...(correctedDays > 0 ? { correctedDays } : {}) };
}

function amountsOf({ kind, day, before, after }: Change) {
  const now = { day, kwh: knownUnits(after.energy), cost: knownUnits(after.cost) };
  if (kind === 'new_day') return now;
  return { ...now, kwhBefore: knownUnits(before?.energy), costBefore: knownUnits(before?.cost) };
}

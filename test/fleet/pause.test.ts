// A pause that the provider asks for: no request of a fleet is sent, and no account has failed by it.
import { expect, test } from 'vitest';
import { zone } from '../../src/domain/period.ts';
import { joinFleet } from '../../src/fleet/membership.ts';
import { afterFailedRun } from '../../src/fleet/worker.ts';
import { EXIT, failure } from '../../src/foundation/failure.ts';
import { sharedClock } from '../../src/store/database/database.ts';
import { openAccountRow } from '../support/accountRow.ts';
import { logLines } from '../support/logLines.ts';

test('what an account meets during a pause is no failure of its own; anything else is', async () => {
  const { row, database, claims, clock, taken } = await openAccountRow();
  row.pausedMs = 600_000;
  const membership = await joinFleet(
    { database, readSecretsAgain: async () => undefined },
    { claim_seconds: 30, requests_per_second: 20 },
    { clock: sharedClock(clock), zone: zone('UTC'), log: logLines().log },
  );
  const context = { clock, random: () => 0.5 };
  const claim = await taken();
  const fault = failure('of_its_own', 'A fault.', { exit: EXIT.provider, retry: 'later' });
  expect(afterFailedRun(claim, fault, context)).toMatchObject({
    columns: { failures: 1, last_error: 'of_its_own' },
    end: { isPolled: true, isPublished: true },
  });
  for (const to of ['provider', 'issuer'] as const)
    await expect(membership.gateOf(claim, claims)(to).enter()).rejects.toMatchObject({
      code: 'fleet_paused',
    });
  const { columns, end } = afterFailedRun(claim, fault, context);
  expect({ columns, end }).toEqual({
    columns: {},
    end: { dueAt: new Date(clock.now() + 600_000), isPolled: false, isPublished: false },
  });
  // The run has stopped, and the account is still ours to give back.
  await claim.giveBack(columns, end);
});

// Claims of a fleet on PostgreSQL's wire: when they end, and that nothing is written or opened for another row than their own.
import { expect, test } from 'vitest';
import type { Claims } from '../../src/store/database/claims.ts';
import { openAccountRow } from '../support/accountRow.ts';

test('a claim lasts from the question, however late the answer comes; so does its renewal', async () => {
  const { row, claims, clock, taken } = await openAccountRow();
  row.answersAfterMs = 5_000;
  const claim = await taken();
  expect(claim.remainingMs()).toBe(25_000);
  clock.advance(10_000);
  await claims.renew([claim]);
  expect(claim.remainingMs()).toBe(25_000);
});

type Taken = Awaited<ReturnType<Awaited<ReturnType<typeof openAccountRow>>['taken']>>;
const END = { dueAt: new Date(0), isPolled: true, isPublished: true };
const WRITES: readonly (readonly [string, (taken: Taken, claims: Claims) => Promise<unknown>])[] = [
  ['a renewal', (claim, claims) => claims.renew([claim]).then(() => claim.check())],
  ['columns', (claim) => claim.write({ failures: 1 })],
  ['the end of a run', (claim) => claim.write({}, END)],
  ['nothing but documents', (claim) => claim.write({})],
  ['the end of the account', (claim) => claim.deleteAccount()],
];

test.each(WRITES)('%s: taken while the fence is our own, refused before and after', async (_, write) => {
  const { row, claims, taken } = await openAccountRow();
  const own = await taken();
  await write(own, claims);
  for (const step of [1, -2]) {
    const claim = await taken();
    row.fence += step;
    await expect(write(claim, claims)).rejects.toMatchObject({ code: 'fence_lost' });
  }
});

// Claims of a fleet on PostgreSQL's wire: when they end, and that nothing is written or opened for another row than their own.

import { describe, expect, test } from 'vitest';
import { addDays } from '../../src/domain/period.ts';
import type { ClaimedRow } from '../../src/store/database/claim.ts';
import { AccountMemory, type Claims } from '../../src/store/database/claims.ts';
import { pack } from '../../src/store/database/days.ts';
import { PLACES, Seal } from '../../src/store/database/seal.ts';
import { StoredAccount } from '../../src/store/database/storedAccount.ts';
import type { DayRow } from '../../src/store/ledgerDocument.ts';
import { openAccountRow } from '../support/accountRow.ts';

test('counts a claim and its renewal from the question when the answer comes late', async () => {
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

test.each(WRITES)('takes %s when the fence is its own, and refuses it before and after', async (_, write) => {
  const { row, claims, taken } = await openAccountRow();
  const own = await taken();
  await write(own, claims);
  for (const step of [1, -2]) {
    const claim = await taken();
    row.fence += step;
    await expect(write(claim, claims)).rejects.toMatchObject({ code: 'fence_lost' });
  }
});

test('refuses a write when the network held it back until the run was over', async () => {
  const { taken } = await openAccountRow();
  const claim = await taken();
  await claim.write({}, END);
  await expect(claim.write({ failures: 1 })).rejects.toMatchObject({ code: 'fence_lost' });
});

test('stays over when the claim ended before its renewal was answered', async () => {
  const { row, claims, clock, taken } = await openAccountRow();
  const claim = await taken();
  clock.advance(20_000);
  row.answersAfterMs = 15_000;
  await claims.renew([claim]);
  expect(claim.remainingMs()).toBeLessThanOrEqual(0);
  expect(() => claim.check()).toThrow();
});

const AS_IT_IS = { decode: (json: unknown) => json, encode: (value: unknown) => value };

async function openClaim() {
  const found = await openAccountRow();
  const claim = await found.taken();
  await claim.open();
  const put = (name: string, json: unknown) =>
    claim.stored.document(`accounts/a/${name}`, AS_IT_IS).write(json);
  const names = () => found.written().map((documents) => documents.map(({ name }) => name));
  return { ...found, claim, put, names };
}

test('writes tokens and the state of their login at once when they come, and all else once, with the run', async () => {
  const { claim, put, names } = await openClaim();
  await put('journal', { polls: 1 });
  await put('login-budget', { code: 'bad_credentials_or_locked' });
  expect(names()).toEqual([]);
  await put('login-budget', { code: 'login_unfinished' });
  await put('login-budget', { code: null });
  await put('tokens', { accessToken: 'a' });
  await claim.write({});
  await claim.write({}, END);
  // Tokens that are lost count as a login that was not finished.
  expect(names()).toEqual([['login-budget'], ['login-budget', 'tokens'], ['journal'], []]);
});

test('keeps what is known of the login, and nothing else of the run, when a claim is given back', async () => {
  const { claim, put, names } = await openClaim();
  for (const name of ['journal', 'login-budget', 'way-in', 'extras', 'context'])
    await put(name, { code: 'c' });
  await claim.abandon({}, END);
  expect(names()).toEqual([['login-budget', 'way-in']]);
});

test.each([
  ['tokens', { accessToken: 'canary' }, null],
  ['login-budget', { code: 'login_unfinished', secretMark: 'canary' }, null],
  ['context', { personCustomerId: 'canary' }, null],
  [
    'extras',
    { owner: 'canary', value: { balance: { found: { amount: 5 } }, registers: { canary: 1 } } },
    { balance: { amount: 5 }, invoices: [] },
  ],
  ['journal', { polls: 1 }, { polls: 1 }],
])('seals %s to its place when it holds a secret or a number of a person', async (name, json, open) => {
  const { claim, put, written, seal, statements } = await openClaim();
  await put(name, json);
  await claim.write({});
  const [[document] = []] = written();
  expect(document).toMatchObject({ name, json: open });
  expect(JSON.stringify(statements)).not.toContain('canary');
  const sealed = document?.sealed && Buffer.from(document.sealed, 'base64');
  if (name === 'journal') expect(sealed).toBeNull();
  else expect(seal.open(PLACES.document('a', name), sealed || Buffer.alloc(0))).toEqual(json);
});

describe('what is stored', () => {
  type Kept = (seal: Awaited<ReturnType<typeof openAccountRow>>['seal']) => Readonly<Record<string, unknown>>;
  const tokensOf =
    (account: string, place = account): Kept =>
    (seal) => ({
      ...{ account, name: 'tokens', json: null, series: null, block: null, days: null },
      sealed: seal.close(PLACES.document(place, 'tokens'), { accessToken: 'x' }),
    });

  async function opened(kept: Kept, columns = {}) {
    const { row, seal, taken, written } = await openAccountRow();
    Object.assign(row, { columns, kept: [kept(seal)] });
    const claim = await taken();
    await claim.open();
    const tokens = await claim.stored.document('accounts/a/tokens', AS_IT_IS).read();
    return { claim, tokens, written };
  }

  test('is its own when another account was claimed with it', async () => {
    expect((await opened(tokensOf('a'))).tokens).toEqual({ accessToken: 'x' });
    expect((await opened(tokensOf('b'))).tokens).toBeNull();
  });

  test('is told when it is damaged, and counts as absent once the account is imported again or removed', async () => {
    const damaged = tokensOf('a', 'b');
    await expect(opened(damaged)).rejects.toMatchObject({
      code: 'damaged_document',
      message: 'What the database keeps of a as tokens is damaged.',
    });
    for (const column of ['repair', 'removed']) {
      const { claim, tokens, written } = await opened(damaged, { [column]: true });
      expect(tokens).toBeNull();
      await claim.write({});
      expect(written()).toEqual([[{ name: 'tokens', json: null, sealed: null }]]);
    }
  });

  async function openLedgers(...ledgers: readonly Readonly<Record<string, unknown>>[]) {
    const { row, seal, taken, statements, written } = await openAccountRow();
    row.kept = ledgers.map((ledger, at) => ({
      ...{ account: 'a', name: seal.mark(`P${at + 1}`), sealed: null, series: `heat-${at + 1}`, block: null },
      ...ledger,
    }));
    const claim = await taken();
    await claim.open();
    const ledger = (property: string) => claim.stored.document(`accounts/a/ledger-${property}`, AS_IT_IS);
    const writtenLedgers = () => JSON.parse(statements.at(-1)?.values[2] ?? '').ledgers;
    return { claim, ledger, seal, written, writtenLedgers };
  }

  test('is read under the series of a ledger, and not written when it has none here', async () => {
    const days = [['2025-03-01', 1, 2, 0, 3]];
    const { claim, ledger, seal, written, writtenLedgers } = await openLedgers({
      json: { complete: true },
      days,
    });
    expect(await ledger('P1').read()).toEqual({ complete: true, days });
    await ledger('P2').write({ complete: true, days: [] });
    expect(claim.stored.hasNews()).toBe(false);
    await ledger('P1').write({ complete: true, days: [] });
    expect(claim.stored.hasNews()).toBe(true);
    await claim.write({});
    expect(written()).toEqual([[]]);
    expect(writtenLedgers()).toEqual([
      { mark: seal.mark('P1'), ledger: { complete: true }, days: [], gone: ['2025-03-01'], block: null },
    ]);
  });

  const PACKED: readonly DayRow[] = [
    ['2024-12-30', 1, null, 0, 3],
    ['2025-01-01', null, 5, 1, 4],
  ];
  const LOOSE: readonly DayRow[] = [['2025-03-01', 7, 8, 0, 9]];

  test('has the days of the block before the others when a ledger has one, and the end of the block stays with it', async () => {
    const { claim, ledger, writtenLedgers } = await openLedgers({
      json: { complete: true, blockTo: '2025-02-01' },
      block: pack(PACKED),
      days: LOOSE,
    });
    expect(await ledger('P1').read()).toEqual({ complete: true, days: [...PACKED, ...LOOSE] });
    const corrected: DayRow = ['2025-03-01', 77, 8, 1, 10];
    await ledger('P1').write({ complete: true, days: [...PACKED, corrected] });
    await claim.write({});
    expect(writtenLedgers()).toMatchObject([
      { ledger: { complete: true, blockTo: '2025-02-01' }, days: [corrected], gone: [], block: null },
    ]);
    // What is written is what the next commit compares with.
    await ledger('P1').write({ complete: true, days: [...PACKED, corrected] });
    await claim.write({});
    expect(writtenLedgers()).toMatchObject([{ days: [], gone: [] }]);
  });

  test('is never taken for a ledger with fewer days when its block is gone or damaged', async () => {
    for (const block of [{}, { ...pack(PACKED), cost: [1] }, { ...pack(PACKED), day: 'x' }]) {
      const { ledger } = await openLedgers({ json: { blockTo: '2025-02-01' }, block, days: LOOSE });
      expect(await ledger('P1').read()).toEqual({ days: null });
    }
    // Without its block the database gives all days as rows; the end that the ledger tells does not count.
    const { claim, ledger, writtenLedgers } = await openLedgers({
      json: { blockTo: '2025-02-01' },
      days: [...PACKED, ...LOOSE],
    });
    await ledger('P1').write({ days: [...PACKED, ...LOOSE] });
    await claim.write({});
    expect(writtenLedgers()).toMatchObject([{ ledger: {}, days: [], gone: [] }]);
    expect(writtenLedgers()[0].ledger.blockTo).toBeUndefined();
  });
});

describe('what is stored of an account that was given back', () => {
  async function openGivenBack() {
    const found = await openClaim();
    const { row, seal, taken, statements, claim, put } = found;
    await put('journal', { polls: 1 });
    await claim.write({}, END);
    /** What the next claim of this process finds, and how often everything was read for it. */
    async function next() {
      const before = statements.length;
      const claimed = await taken();
      await claimed.open();
      const reads = statements.slice(before).filter(({ text }) => text.startsWith('SELECT account, name'));
      return {
        journal: await claimed.stored.document('journal', AS_IT_IS).read(),
        reads: reads.length,
        claimed,
      };
    }
    const series = { account: 'a', name: seal.mark('P1'), json: {}, sealed: null, block: null, days: [] };
    row.kept = [
      {
        account: 'a',
        name: 'journal',
        json: { polls: 2 },
        sealed: null,
        series: null,
        block: null,
        days: null,
      },
    ];
    return { ...found, next, series: { ...series, series: 'heat' } };
  }
  const FRESH = { journal: { polls: 2 }, reads: 1 };

  test('is not read again when no other process has had it, claim after claim', async () => {
    const { next } = await openGivenBack();
    for (let round = 0; round < 3; round += 1) {
      const { claimed, ...found } = await next();
      expect(found).toEqual({ journal: { polls: 1 }, reads: 0 });
      await claimed.write({}, END);
    }
  });

  test.each<[string, (row: Awaited<ReturnType<typeof openGivenBack>>['row']) => void]>([
    ['another process has had it', (row) => (row.fence += 2)],
    ['another process has it, and lets it go by itself', (row) => (row.fence += 1)],
    ['it was removed and imported again, and has come to the same fence', (row) => (row.keptBy = 'another')],
    ['a poll is asked for', (row) => (row.columns = { wanted: 1 })],
    ['it was imported again', (row) => (row.columns = { repair: true })],
    ['it is being removed', (row) => (row.columns = { removed: true })],
  ])('is read again when %s', async (_, happen) => {
    const { row, next } = await openGivenBack();
    happen(row);
    expect(await next()).toMatchObject(FRESH);
  });

  test('is read again when a run was dropped in the middle, or its end was not answered', async () => {
    const dropped = await openGivenBack();
    const { claimed } = await dropped.next();
    await claimed.stored.document('accounts/a/extras', AS_IT_IS).write({ value: {} });
    await claimed.abandon({}, END);
    expect(await dropped.next()).toMatchObject(FRESH);

    const { next, row } = await openGivenBack();
    const unanswered = (await next()).claimed;
    row.fence += 1;
    await expect(unanswered.write({}, END)).rejects.toMatchObject({ code: 'fence_lost' });
    expect(await next()).toMatchObject(FRESH);
  });

  test('is read again when it could not be read before', async () => {
    const { row, next, taken } = await openGivenBack();
    row.fence += 1;
    const kept = row.kept;
    row.kept = [{ ...kept[0], sealed: Buffer.from('damaged') }];
    const damaged = await taken();
    await expect(damaged.open()).rejects.toMatchObject({ code: 'damaged_document' });
    await damaged.abandon({}, END);
    row.kept = kept;
    expect(await next()).toMatchObject(FRESH);
  });

  test('is forgotten oldest first when there are too many days', () => {
    const memory = new AccountMemory('own');
    const storedOf = (account: string) => {
      const stored = new StoredAccount(account, new Seal([]), false);
      const day = (at: number): DayRow => [addDays('1980-01-01', at), 1, 1, 0, 1];
      const days = Array.from({ length: 40_000 }, (_, at) => day(at));
      stored.load([{ account, name: 'm', json: {}, sealed: null, series: 'heat', block: null, days }]);
      return stored;
    };
    for (const account of ['a', 'b', 'c']) memory.remember(storedOf(account), 2);
    const row = { fence: 3, kept_by: 'own', wanted: 0, repair: false, removed: false };
    const isRemembered = (id: string) => memory.take({ ...row, id } as ClaimedRow) !== null;
    expect(['a', 'b', 'c', 'c'].map(isRemembered)).toEqual([false, true, true, false]);
  });
});

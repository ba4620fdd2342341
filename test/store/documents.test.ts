// What is kept of an account comes back as it was, and what is not quite it is set aside.
import { expect, test } from 'vitest';
import type { Property } from '../../src/domain/reading.ts';
import {
  constituenciesCodec,
  contextCodec,
  installationCodec,
  journalCodec,
  loginBudgetCodec,
  tokensCodec,
} from '../../src/store/documents.ts';
import { type LedgerDocument, ledgerCodec } from '../../src/store/ledgerDocument.ts';
import { NewerDocument } from '../../src/store/stateStore.ts';

const TOKENS = {
  owner: 'me',
  value: {
    accessToken: 'a',
    refreshToken: null,
    obtainedAt: 1_773_144_000_000,
    accessExpiresAt: 1_773_145_800_000,
    refreshExpiresAt: null,
  },
};
const BUDGET = {
  refusals: 4,
  nextAttemptAt: null,
  state: 'needs_user_action' as const,
  code: 'account_disabled',
  secretMark: 'salt.hash',
  askedAt: null,
};
/** Versions up to 0.1 wrote none of these. */
const BUDGET_LATER = { message: null, useless: [], unprovenAt: null };
/** All documents but ledgers are made of a schema by the same function. */
test('a document of another version, or with a field missing, is refused; a field that came later is passed over', () => {
  const written = tokensCodec.encode(TOKENS) as object;
  expect(tokensCodec.decode(written)).toEqual(TOKENS);
  expect(() => tokensCodec.decode({ ...written, version: 2 })).toThrow(NewerDocument);
  expect(() => tokensCodec.decode({ ...written, version: undefined })).toThrow();
  expect(() => tokensCodec.decode({ ...written, owner: undefined })).toThrow();
  expect(tokensCodec.decode({ ...written, addedLater: true })).toEqual(TOKENS);
});

test('a login budget of an earlier version is read', () => {
  expect(loginBudgetCodec.decode({ version: 1, ...BUDGET })).toEqual({ ...BUDGET, ...BUDGET_LATER });
});

const HOUSE = {
  propertyCustomerId: '512001',
  subscriptionId: null,
  balanceGroupId: '9',
  meterIdentifiers: ['70999001'],
};
const contextOf = (property: Property) => ({
  owner: 'me',
  value: { personCustomerId: '7', siteCodes: [], billingProfileIds: [], properties: [property] },
});

test('a property comes back with its meters of now and those by which its series is named', () => {
  const context = contextOf({ ...HOUSE, namedAfter: ['70418235'] });
  const written = JSON.parse(JSON.stringify(contextCodec.encode(context)));
  expect(contextCodec.decode(written)).toEqual(context);
  // A version up to 0.1 names the series by these.
  expect(written.value.properties).toMatchObject([{ meterIdentifiers: ['70418235'] }]);
  const before = { version: 1, ...contextOf(HOUSE) };
  expect(contextCodec.decode(before)).toEqual(contextOf(HOUSE));
  expect(JSON.parse(JSON.stringify(contextCodec.encode(contextOf(HOUSE))))).toEqual(before);
});

const LEDGER: LedgerDocument = {
  timezone: 'Europe/Dublin',
  readingCloses: 'previous_day',
  isNew: false,
  tariff: null,
  untold: [{ kind: 'new_day', day: '2025-03-09', before: null, after: { energy: 5_000_000, cost: null } }],
  ledger: {
    ...{ origin: '2025-01-01', readTo: '2025-03-11', complete: true, sweptOn: '2025-03-10' },
    days: new Map([['2025-03-09', { energy: 5_000_000, cost: null, revision: 1, receivedAt: 7 }]]),
    readTimes: new Map([['2025-03-09', 1_741_500_000_000]]),
    quarantined: new Map([['2025-03-10', { energy: -1, cost: 2, timesChanged: 3, isHistory: false }]]),
  },
};

test('a ledger comes back as it was; quarantined days of 0.1.0 count as of the first history', () => {
  const written = JSON.parse(JSON.stringify(ledgerCodec.encode(LEDGER)));
  expect(ledgerCodec.decode(written)).toEqual(LEDGER);
  const { quarantine, readTimes, isNew, tariff, ...before } = written;
  const { ledger } = ledgerCodec.decode(before);
  expect(ledger.quarantined.get('2025-03-10')).toEqual({
    energy: -1,
    cost: 2,
    timesChanged: 0,
    isHistory: true,
  });
});

test.each([
  [['2025-3-9', 1, 1, 0, 7]],
  [['2025-99-99', 1, 1, 0, 7]],
  [['2025-02-30', 1, 1, 0, 7]],
  [['2025-03-09', '1', 1, 0, 7]],
  [['2025-03-09', 1, 0.5, 0, 7]],
  [['2025-03-09', 1, 1, null, 7]],
  [['2025-03-09', 1, 1, 0]],
  [['2025-03-09', 1, 1, 0, 9e15]],
  [['9999-12-31', 1, 1, 0, 7]],
])('a ledger with the row %j is damaged', (row) => {
  const written = ledgerCodec.encode(LEDGER) as object;
  expect(() => ledgerCodec.decode({ ...written, days: [row] })).toThrow();
});

test.each(['origin', 'readTo', 'sweptOn'])('refuses a ledger when no calendar has its %s', (key) => {
  const written = ledgerCodec.encode(LEDGER) as object;
  expect(() => ledgerCodec.decode({ ...written, [key]: '2025-99-99' })).toThrow();
});

test('refuses a ledger when it begins before there were meters', () => {
  const written = ledgerCodec.encode(LEDGER) as object;
  expect(() => ledgerCodec.decode({ ...written, origin: '0001-01-01' })).toThrow();
});

test('keeps no day of a ledger when its origin is later', () => {
  const written = ledgerCodec.encode(LEDGER) as { days: unknown[] };
  const days = [['2024-12-31', 1, 1, 0, 7], ...written.days];
  expect(ledgerCodec.decode({ ...written, days })).toEqual(LEDGER);
});

test('half a millisecond, a time in words, or one that no calendar has, is no instant', () => {
  for (const obtainedAt of [0.5, '2026-03-10', null, 9e15, -9e15]) {
    const spoiled = { version: 1, owner: 'me', value: { ...TOKENS.value, obtainedAt } };
    expect(() => tokensCodec.decode(spoiled)).toThrow();
  }
});

test('no time that cannot be written is taken into what is published at a start', () => {
  const account = {
    day: '2026-03-10',
    requestsToday: 1,
    loginsToday: 0,
    lastPollAt: 7,
    lastSuccessAt: 7,
    discoveredAt: 7,
    polls: [[7, null]],
  };
  const journal = (over: object) => ({ version: 1, accounts: { home: { ...account, ...over } } });
  expect(journalCodec.decode(journal({})).accounts.home).toMatchObject(account);
  for (const over of [{ lastSuccessAt: 9e15 }, { lastPollAt: 9e15 }, { polls: [[9e15, null]] }])
    expect(() => journalCodec.decode(journal(over))).toThrow();
  const question = { chamber: 'dail', houseNo: 34, chamberIds: [], skip: null, limit: null };
  const list = { total: 0, constituencies: [], complete: true, raw: null };
  const kept = (fetchedAt: number) => ({
    version: 1,
    owner: 'me',
    value: { question, list, fetchedAt, stale: false },
  });
  expect(constituenciesCodec.decode(kept(7)).value.fetchedAt).toBe(7);
  expect(() => constituenciesCodec.decode(kept(9e15))).toThrow();
});

test.each(['', 'two words', 'line\n', '\0', 'x'.repeat(101)])(
  '%j is no client id for a broker',
  (clientId) => {
    expect(() => installationCodec.decode({ version: 1, clientId, jitterFraction: 0.5 })).toThrow();
  },
);

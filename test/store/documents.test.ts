// What is kept of an account comes back as it was, and what is not quite it is set aside.
import { expect, test } from 'vitest';
import type { Property } from '../../src/domain/reading.ts';
import { contextCodec, loginBudgetCodec, tokensCodec } from '../../src/store/documents.ts';
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
  [['2025-03-09', '1', 1, 0, 7]],
  [['2025-03-09', 1, 0.5, 0, 7]],
  [['2025-03-09', 1, 1, null, 7]],
  [['2025-03-09', 1, 1, 0]],
])('a ledger with the row %j is damaged', (row) => {
  const written = ledgerCodec.encode(LEDGER) as object;
  expect(() => ledgerCodec.decode({ ...written, days: [row] })).toThrow();
});

test('half a millisecond, or a time in words, is no instant', () => {
  for (const obtainedAt of [0.5, '2026-03-10', null]) {
    const spoiled = { version: 1, owner: 'me', value: { ...TOKENS.value, obtainedAt } };
    expect(() => tokensCodec.decode(spoiled)).toThrow();
  }
});

// heat2mqtt statement, from what is on the disk of a household with several accounts.
import { expect, test, vi } from 'vitest';
import { extras } from '../../src/domain/extras.ts';
import { extrasCodec } from '../../src/store/documents.ts';
import { StateDirectory } from '../../src/store/stateDirectory.ts';
import { ledgerOf, row } from '../domain/ledgers.ts';
import { keepMeters, property } from '../support/keptMeters.ts';
import { logLines } from '../support/logLines.ts';
import { openStack } from '../support/stack.ts';
import { environmentAt, typed } from '../support/typed.ts';

const OWN = property('11', '70418235');
const SHARED = property('22', '70418236');
const BILL = {
  id: '7',
  status: 'paid',
  startAt: Date.parse('2025-02-01T00:00:00Z'),
  endAt: Date.parse('2025-03-01T00:00:00Z'),
  dueAt: null,
  total: 84_000_000,
  open: 0,
};

/** Two accounts that list one meter: the second keeps its ledger. The first has a bill for February. */
async function household(ledger = ledgerOf(row('2025-01-01', 181, 8, 1.5))) {
  const stateDir = await openStack().folder();
  const state = new StateDirectory(stateDir, logLines().log);
  const own = ledgerOf(row('2025-01-01', 181, 8, 1.5));
  await keepMeters(state, 'home', { listed: [OWN, SHARED], kept: [OWN], ledger: own });
  await keepMeters(state, 'flat', { listed: [SHARED], kept: [SHARED], ledger });
  const invoices = { all: [BILL], knownIds: ['7'], profiles: [], fetchedAt: 1 };
  const value = extras.parse({ invoices: { askedOn: '2025-06-30', off: false, found: invoices } });
  await state.document('accounts/home/extras', extrasCodec).write({ owner: 'me', value });
  return {
    ...environmentAt(stateDir),
    HEAT2MQTT_ACCOUNTS_0_ID: 'home',
    HEAT2MQTT_ACCOUNTS_1_ID: 'flat',
    HEAT2MQTT_ACCOUNTS_1_USERNAME: 'you@example.org',
    HEAT2MQTT_ACCOUNTS_1_PASSWORD: 'other words',
  };
}

async function billOfFebruary(env: Record<string, string>) {
  const { out } = await typed(['statement', '2025-02', '--format', 'json'], { env });
  return JSON.parse(out).bills.value[0];
}

test('compares a bill with all meters of its account when another account keeps the ledger of one', async () => {
  expect(await billOfFebruary(await household())).toMatchObject({
    id: '7',
    amount: 84,
    sum_of_days: 84,
    difference: 0,
  });
});

test('compares a bill with nothing while the history of one meter of its account is not whole', async () => {
  const incomplete = { ...ledgerOf(row('2025-01-01', 40, 8, 1.5)), complete: false };
  expect(await billOfFebruary(await household(incomplete))).toMatchObject({
    sum_of_days: null,
    verdict: 'unknown',
  });
});

test('reads what is known of each account once, however many accounts there are', async () => {
  const env = await household();
  const output = await openStack().folder();
  const reads = vi.spyOn(StateDirectory.prototype, 'document');
  await typed(['statement', '2025-02', '--all', '--output', output], { env });
  const contexts = reads.mock.calls.map(([name]) => name).filter((name) => name.endsWith('/context'));
  reads.mockRestore();
  expect(contexts).toEqual(['accounts/home/context', 'accounts/flat/context']);
});

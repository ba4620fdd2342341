// A history that the broker gives back only after it was thought to have none.
import { expect, test } from 'vitest';
import { LedgerBook } from '../../src/accounts/ledgerBook.ts';
import type { Meter } from '../../src/accounts/meter.ts';
import { fileSchema } from '../../src/config/schema.ts';
import { HistoryOnBroker } from '../../src/daemon/publishing/historyOnBroker.ts';
import { zone } from '../../src/domain/period.ts';
import type { Incoming } from '../../src/mqtt/message.ts';
import { Topics } from '../../src/publication/topics.ts';
import { place } from '../store/directory.ts';
import { handClock } from '../support/clock.ts';
import { waitFor } from '../support/waitFor.ts';

const HISTORY = {
  schema: 1,
  timezone: 'Europe/Dublin',
  reading_closes: 'same_day',
  currency: 'EUR',
  origin: '2024-01-01',
  days: [['2024-01-01', 5, 1]],
};

/** A new ledger, about which a broker has been silent, and what that says later. */
async function open() {
  const { open: openState, log, lines } = await place();
  const book = await LedgerBook.open('ledger', {
    config: fileSchema.parse({}),
    zone: zone('Europe/Dublin'),
    state: await openState(),
    clock: handClock('2025-02-01T12:00:00Z'),
    log,
  });
  const meter = { name: '70418235', book } as Meter;
  const reopened: Meter[] = [];
  let sayLate = (_incoming: Incoming) => {};
  const history = new HistoryOnBroker(new Topics('heat2mqtt'), log);
  const readRetained = async (_: unknown, onLate?: (incoming: Incoming) => void) => {
    sayLate = onLate ?? sayLate;
    return null;
  };
  history.open({ readRetained }, (one) => reopened.push(one));
  await history.restore(meter);
  return {
    store: book,
    meter,
    reopened,
    lines,
    say: (text: string) => sayLate({ payload: Buffer.from(text) } as Incoming),
  };
}

test('takes a history, and has it read on, when it comes after the silence', async () => {
  const { store, meter, reopened, say } = await open();
  expect([store.isNew, store.ledger.origin, store.ledger.days.size]).toEqual([false, '2023-01-01', 0]);
  say(JSON.stringify(HISTORY));
  await waitFor('the meter', () => reopened.length === 1);
  expect(reopened).toEqual([meter]);
  expect([store.saved.origin, [...store.saved.days.keys()]]).toEqual(['2024-01-01', ['2024-01-01']]);
});

test('leaves the ledger alone when what comes late is no history', async () => {
  const { store, reopened, say, lines } = await open();
  const { ledger } = store;
  say('{"schema":1}');
  await waitFor('the warning', () => lines.some((line) => line.includes('is not understood')));
  expect([store.ledger === ledger, reopened]).toEqual([true, []]);
});

// Extras from a provider gone mad: whatever JSON comes, there is a value that can be written and kept, or a Failure.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { takeInvoices } from '../../src/domain/extras.ts';
import { withReadings } from '../../src/domain/insight/registerCheck.ts';
import { invoiceRecord, newestOf } from '../../src/domain/invoice.ts';
import { zone } from '../../src/domain/period.ts';
import type { Property } from '../../src/domain/reading.ts';
import { Failure } from '../../src/foundation/failure.ts';
import { readBalance, readCredit, readInvoices } from '../../src/provider/monetization/billing.ts';
import { readSite } from '../../src/provider/monetization/discovery.ts';
import { readRegister } from '../../src/provider/monetization/register.ts';
import { extrasCodec } from '../../src/store/documents.ts';
import { RUNS } from '../support/property.ts';

const NOW = Date.parse('2026-03-10T12:00:00Z');
const ZONES = ['Europe/Dublin', 'Pacific/Kiritimati', 'Pacific/Pago_Pago'].map(zone);
const METER: Property = {
  propertyCustomerId: '1',
  subscriptionId: null,
  balanceGroupId: null,
  meterIdentifiers: [],
};

const INVOICE_KEYS =
  'id status start_time end_time valid_from valid_to payment_due total_amount due_amount amount'.split(' ');
const odd = fc.oneof(
  fc.constantFrom(null, '', '12.5', '-0', '1e9', 0, -1, 1e300, 9e15, '253402300799999', true, [], {}),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer({ min: 0, max: 253_402_300_799_999 }),
  fc.string({ unit: 'grapheme' }),
  fc.jsonValue({ maxDepth: 2 }),
);
const record = (keys: readonly string[]) =>
  fc.record(Object.fromEntries(keys.map((key) => [key, odd])), { requiredKeys: [] });
const row = fc.oneof(
  odd,
  record(INVOICE_KEYS),
  fc.record({
    event_id: odd,
    created_at: odd,
    fields: record(['identifier', 'meter_value', 'time_of_read', 'reading_type', 'meter_value_unit']),
  }),
);
const reply = fc.oneof(
  odd,
  fc.array(row, { maxLength: 8 }),
  fc.record({ objects: fc.array(row, { maxLength: 8 }), total_num: odd }, { requiredKeys: ['objects'] }),
  record(['open_bill_due', 'timezone', 'currency', 'objects', 'total_num']),
);

/** `null` for a Failure; anything else thrown fails the test. */
const orFailure = <T>(promise: Promise<T>): Promise<T | null> =>
  promise.catch((err) => {
    if (err instanceof Failure) return null;
    throw err;
  });

const isMicro = (amount: number | null) => amount === null || Number.isSafeInteger(amount);

test('every reply is understood or refused, written in every zone, and comes back from the disk', async () => {
  await fc.assert(
    fc.asyncProperty(reply, fc.constantFrom(null, NOW), async (json, notFoundAt) => {
      const ask = async () => json;
      const person = { personCustomerId: '7', billingProfileIds: [] };
      const amounts = [await orFailure(readBalance(ask, person)), await orFailure(readCredit(ask, person))];
      const readings = await orFailure(readRegister(ask, { property: METER, knownReadAt: null, now: NOW }));
      const register = withReadings(null, readings ?? [], zone('Europe/Dublin'));
      const site = await orFailure(readSite(ask));
      const read = await orFailure(readInvoices(ask, { ...person, notFoundAt, now: NOW }));
      const { invoices, bills } = takeInvoices(null, read ?? { byProfile: new Map(), notFoundAt }, NOW);
      const found = [...(read?.byProfile.values() ?? [])].flat();

      expect([...amounts, register?.energy ?? null].every(isMicro)).toBe(true);
      expect(bills).toEqual([]);
      expect(newestOf(invoices.all, NOW) === null).toBe(found.length === 0);
      for (const invoice of invoices.all) {
        expect(isMicro(invoice.total) && isMicro(invoice.open)).toBe(true);
        for (const local of ZONES) {
          const { period_start, period_end, issued, due } = invoiceRecord(invoice, local);
          for (const day of [period_start, period_end, issued, due]) {
            expect(day ?? '2026-01-01').toMatch(/^\d{4}-\d{2}-\d{2}$/);
          }
        }
      }
      const asked = { askedOn: '2026-03-10', off: false };
      const value = {
        site: { ...asked, found: site },
        balance: { ...asked, found: { amount: amounts[0] ?? null } },
        credit: { ...asked, found: { amount: amounts[1] ?? null } },
        invoices: { ...asked, found: invoices },
        registers: { '1': { ...asked, found: register } },
      };
      const text = JSON.stringify(extrasCodec.encode({ owner: 'me', value }));
      expect(extrasCodec.decode(JSON.parse(text))).toEqual({ owner: 'me', value });
    }),
    { numRuns: RUNS },
  );
});

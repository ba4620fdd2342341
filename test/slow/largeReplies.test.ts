// The largest replies that are still read, and strange ones among them: none takes long or much memory, whoever reads it.
import { expect, test } from 'vitest';
import { readConstituencies } from '../../src/constituencies/publicList.ts';
import { zone } from '../../src/domain/period.ts';
import { excessIn } from '../../src/foundation/json.ts';
import { readBalance, readCredit, readInvoices } from '../../src/provider/monetization/billing.ts';
import { discover, readSite } from '../../src/provider/monetization/discovery.ts';
import { readRegister } from '../../src/provider/monetization/register.ts';
import { usageReports } from '../../src/provider/monetization/usageReport.ts';
import { shapeOf } from '../../src/provider/reply.ts';
import { type Ask, createAsk } from '../../src/provider/request.ts';
import { handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';

const MEBIBYTE = 1024 * 1024;
const NOW = Date.parse('2026-03-10T12:00:00Z');
const DAY = 86_400_000;
const DUBLIN = zone('Europe/Dublin');
const span = { from: '2025-03-01', to: '2026-03-01' };
const propertyCustomerId = '512001';
const property = { propertyCustomerId, subscriptionId: null, balanceGroupId: null, meterIdentifiers: ['1'] };
const question = { chamber: 'dail', houseNo: null, chamberIds: [], skip: null, limit: null } as const;
const { log } = logLines();

const READERS: Readonly<Record<string, (ask: Ask) => Promise<unknown>>> = {
  discovery: (ask) => discover(ask, { customerCode: 'c', siteCodes: [] }, log),
  site: (ask) => readSite(ask),
  balance: (ask) => readBalance(ask, { personCustomerId: 'p' }),
  credit: (ask) => readCredit(ask, { personCustomerId: 'p', billingProfileIds: [] }),
  invoices: (ask) => readInvoices(ask, { personCustomerId: 'p', billingProfileIds: [], now: NOW }),
  register: (ask) => readRegister(ask, { property, known: null, now: NOW }),
  usage: (ask) =>
    usageReports(ask, log).usage({
      propertyCustomerId,
      span,
      interval: 'day',
      zone: DUBLIN,
      readingCloses: 'same_day',
    }),
  hours: (ask) => usageReports(ask, log).readingHours({ propertyCustomerId, span, zone: DUBLIN }),
  constituencies: (ask) => readConstituencies(ask, question),
};

/** As many as still pass, with commas between them. */
function rows(row: (at: number) => string, valuesEach: number): string {
  const all: string[] = [];
  let bytes = 0;
  for (let at = 0; (at + 1) * valuesEach < 99_900; at += 1) {
    const text = row(at);
    bytes += text.length + 1;
    if (bytes > 2 * MEBIBYTE - 500) break;
    all.push(text);
  }
  return all.join(',');
}
const objects = (inner: string) => `{"objects":[${inner}]}`;
const days = (inner: string) =>
  `{"aggregations":{"resources":{"buckets":[{"key":"Euro","readings":{"intervals":{"buckets":[${inner}]}}}]}}}`;
const sums = '"doc_count":1,"documents":{"doc_count":1,"amount":{"value":1},"quantity":{"value":1}}';

const REPLIES: Readonly<Record<string, () => string>> = {
  'rows of nothing': () => objects(rows(() => '{}', 1)),
  'a bare list of nothing': () => `[${rows(() => '{}', 1)}]`,
  'rows that are numbers': () => objects(rows(() => '1', 1)),
  'ids alone': () => objects(rows((at) => `{"id":${at}}`, 2)),
  invoices: () => objects(rows((at) => `{"id":${at},"status":"final","start_time":${NOW}}`, 4)),
  readings: () => objects(rows((at) => `{"fields":{"meter_value":"${at}","time_of_read":"${NOW - at}"}}`, 4)),
  'amounts in words': () => objects(rows(() => '{"amount":"x"}', 2)),
  days: () => days(rows((at) => `{"key":${NOW - at * DAY},${sums}}`, 9)),
  'days of all centuries': () => days(rows((at) => `{"key":${at * 20 * DAY},${sums}}`, 9)),
  'days of nothing': () => days(rows(() => '{}', 1)),
  'days without their sums': () => days(rows(() => '{"documents":{"amount":{},"quantity":{}}}', 4)),
  resources: () =>
    `{"aggregations":{"resources":{"buckets":[${rows(() => '{"key":"Euro","readings":{"intervals":{"buckets":[]}}}', 5)}]}}}`,
  'resources of nothing': () => `{"aggregations":{"resources":{"buckets":[${rows(() => '1', 1)}]}}}`,
  panels: () =>
    `{"results":[${rows((at) => `{"constituencyOrPanel":{"uri":"u${at}","showAs":"s"},"house":{"houseNo":"1"}}`, 6)}]}`,
  'panels of a house': () =>
    `{"results":{"house":{"constituenciesOrPanels":[${rows((at) => `{"constituencyOrPanel":{"uri":"u${at}","showAs":"s"}}`, 4)}]}}}`,
  'panels of nothing': () => `{"results":[${rows(() => '{}', 1)}]}`,
  names: () => `{${rows((at) => `"k${at}":1`, 1)}}`,
  'names in a row': () => objects(`{${rows((at) => `"k${at}":1`, 1)}}`),
  services: () =>
    objects(
      `{"id":1,"services":[${rows((at) => `{"identifier":"${at}","service_type":"HEAT_METER_READ_SERVICE"}`, 3)}]}`,
    ),
  'one long text': () => objects(`{"id":"${'x'.repeat(2 * MEBIBYTE - 500)}"}`),
};

let body = Buffer.alloc(0);
const ask = createAsk({
  baseUrl: 'http://provider.invalid',
  timeoutSeconds: 30,
  clock: handClock('2026-03-10T12:00:00Z'),
  onReply: ({ json }) => void shapeOf(json),
  send: async () => ({ status: 200, headers: {}, body }),
});

test.each(Object.keys(REPLIES))(
  '%s: less than a second of this processor and 100 MB, whatever was asked for, and no fault that is not foreseen',
  async (name) => {
    body = Buffer.from(REPLIES[name]?.() ?? '');
    expect(excessIn(body)).toBeNull();
    for (const [reader, read] of Object.entries(READERS)) {
      const cpu = process.cpuUsage();
      const heap = process.memoryUsage().heapUsed;
      const outcome = await read(ask).catch((err) => err);
      const { user, system } = process.cpuUsage(cpu);
      if (outcome instanceof Error) expect(outcome).toMatchObject({ code: 'unexpected_reply' });
      expect((user + system) / 1000, reader).toBeLessThan(1_000);
      expect((process.memoryUsage().heapUsed - heap) / MEBIBYTE, reader).toBeLessThan(100);
    }
  },
);

// What a real search engine says is wrong with a query: its type is one that we know, and words of our own query are found in it.
import { expect, inject, test } from 'vitest';
import { zone } from '../../src/domain/period.ts';
import { systemClock } from '../../src/foundation/clock.ts';
import { createHttpClient } from '../../src/http/client.ts';
import { complaintWords } from '../../src/provider/monetization/complaint.ts';
import { usageQuery } from '../../src/provider/monetization/usageReport.ts';
import { createAsk, ProviderRefused } from '../../src/provider/request.ts';
import { INDEX } from './engine.ts';

const QUERY = usageQuery(
  {
    propertyCustomerId: 'Canarywood',
    span: { from: '2026-01-01', to: '2026-02-01' },
    interval: 'day',
    zone: zone('Europe/Dublin'),
    readingCloses: 'same_day',
  },
  'calendar_interval',
);
const written = JSON.stringify(QUERY);

test.each<[string, (text: string) => string, string]>([
  [
    'a key that it does not know',
    (text) => text.replace('"calendar_interval"', '"interwal"'),
    'date_histogram',
  ],
  ['an interval of nowhere', (text) => text.replace('"day"', '"canarywood"'), 'calendar_interval'],
  ['a path of nowhere', (text) => text.replaceAll('"path":"event_fields"', '"path":"canarywood"'), 'nested'],
  ['bounds in words', (text) => text.replace(/"gte":"[^"]*"/, '"gte":"Canarywood"'), ''],
])('%s', async (_, change, name) => {
  const ask = createAsk({
    baseUrl: inject('engine'),
    timeoutSeconds: 30,
    send: createHttpClient(systemClock).send,
    clock: systemClock,
  });
  const body = JSON.parse(change(written));
  const err = await ask({ method: 'POST', path: `/${INDEX}/_search`, body, what: 'usage report' }).catch(
    (fault: unknown) => fault,
  );
  expect(err).toBeInstanceOf(ProviderRefused);
  const { complaint } = err as ProviderRefused;
  const told = complaintWords(complaint, body);
  expect(told.type).not.toBe('unknown');
  if (name !== '') expect(told.names).toContain(name);
  expect(JSON.stringify(told)).not.toMatch(/canary/i);
});

// The usage query to engines of other ages: which key cuts the intervals, and what is logged when a query is refused.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createHttpClient } from '../../src/http/client.ts';
import { usageReports } from '../../src/provider/monetization/usageReport.ts';
import { createAsk } from '../../src/provider/request.ts';
import { look } from '../simulator/visitor.ts';
import { handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';
import { QUESTION } from './readings.ts';

const HISTOGRAM = 'aggs.resources.aggs.readings.aggs.intervals.date_histogram';
const NOTHING_READ = { aggregations: { resources: { buckets: [] } } };
const because = (reason: unknown) => ({ error: { root_cause: [{ type: 'parsing_exception', reason }] } });
type Answer = readonly [status: number, body: unknown];

/** An engine that answers by the key that cuts the intervals. */
async function openEngine(answer: (intervalKey: string) => Answer) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (piece) => {
      text += piece;
    });
    request.on('end', () => {
      const histogram = Object(look(JSON.parse(text), HISTOGRAM));
      const intervalKey = Object.keys(histogram).filter((key) => key.endsWith('interval'));
      asked.push(intervalKey.join());
      const [status, body] = answer(intervalKey.join());
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const clock = handClock('2026-03-10T12:00:00Z');
  const { send } = createHttpClient(clock, () => undefined);
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ask = createAsk({ baseUrl, timeoutSeconds: 30, send, clock });
  const told = logLines();
  const { usage } = usageReports(ask, told.log);
  const read = () => usage(QUESTION);
  const reasons = () => told.lines.map((line) => JSON.parse(line).reason);
  return { read, asked, reasons };
}

test('an engine that knows `interval` is never asked for anything else', async () => {
  const { read, asked, reasons } = await openEngine(() => [200, NOTHING_READ]);
  await read();
  await read();
  expect(asked).toEqual(['interval', 'interval']);
  expect(reasons()).toEqual([]);
});

test('one that refuses `interval` is asked with `calendar_interval`, at once and from then on', async () => {
  const unknown = '[date_histogram] unknown field [interval] for 512001';
  let isNew = true;
  const { read, asked, reasons } = await openEngine((key) =>
    (key === 'calendar_interval') === isNew ? [200, NOTHING_READ] : [400, because(unknown)],
  );
  expect(await read()).toEqual([]);
  await read();
  expect(asked).toEqual(['interval', 'calendar_interval', 'calendar_interval']);
  expect(reasons()).toEqual(['[date_histogram] unknown field [interval] for <id>']);
  // Another engine behind the same address.
  isNew = false;
  await read();
  await read();
  expect(asked.slice(3)).toEqual(['calendar_interval', 'interval', 'interval']);
});

test.each<[string, unknown, string]>([
  ['in full', because('unknown field [aggs]'), 'unknown field [aggs]'],
  ['cut', because('x'.repeat(5_000)), 'x'.repeat(300)],
  ['no text', because({ private: 1 }), 'not given'],
  ['of another shape', { error: 'private' }, 'not given'],
  ['nothing', null, 'not given'],
])('a query refused with either key is a refusal; its reason is logged: %s', async (_, body, reason) => {
  const { read, asked, reasons } = await openEngine(() => [400, body]);
  await expect(read()).rejects.toMatchObject({ code: 'provider_refused', status: 400 });
  await expect(read()).rejects.not.toThrow(/private|unknown field/);
  expect(asked).toEqual(['interval', 'calendar_interval', 'interval', 'calendar_interval']);
  expect(reasons()).toEqual([reason, reason]);
});

test.each([401, 403, 404, 422, 500])(
  'a refusal of another kind is not about the query: %i',
  async (status) => {
    const { read, asked, reasons } = await openEngine(() => [status, because('no')]);
    await expect(read()).rejects.toThrow(`HTTP ${status}`);
    expect(asked).toEqual(['interval']);
    expect(reasons()).toEqual([]);
  },
);

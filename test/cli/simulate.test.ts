// heat2mqtt simulate and demo: what simulate prints is a configuration that works; which port they take; and what the demo says.
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import { meterSentence, sentenceOn, timeOfDay } from '../../src/cli/demoSentences.ts';
import { freePort } from '../../src/cli/simulate.ts';
import { listening } from '../support/listening.ts';
import { openStack, type Stack } from '../support/stack.ts';
import { typed } from '../support/typed.ts';
import { waitFor } from '../support/waitFor.ts';

let stack: Stack;
beforeEach(() => {
  stack = openStack();
});

/** Runs it until the end of the test. `check` tries what it has printed. */
async function simulated(...words: string[]) {
  const stopping = new AbortController();
  let out = '';
  const hear = (text: string) => {
    out += text;
  };
  const all = ['simulate', '--port', '0', ...words];
  const running = typed(all, { hear, interrupted: stopping.signal });
  const stop = () => {
    stopping.abort();
    return running;
  };
  stack.defer(stop);
  await Promise.race([running, waitFor('the configuration', () => out.includes('state_dir'))]);
  const config = join(await stack.folder(), 'simulated.yaml');
  await writeFile(config, out);
  const HEAT2MQTT_STATE_DIR = await stack.folder();
  const check = (env: Record<string, string> = {}) =>
    typed(['check', '--live', '--config', config], { env: { HEAT2MQTT_STATE_DIR, ...env } });
  return { printed: out, stop, check };
}

test('prints a file that `check --live` is content with until it ends', async () => {
  const { printed, stop, check } = await simulated();
  const { out: told, exitCode } = await check();
  expect(told).not.toContain('FAILED');
  expect([exitCode, told]).toEqual([0, expect.stringMatching(/provider for home: signed in, 1 heat meter/)]);
  // The login page, for this program and for clients that send no PKCE challenge.
  const byForm = { HEAT2MQTT_PROVIDER_SIGN_IN: 'form', HEAT2MQTT_STATE_DIR: await stack.folder() };
  expect((await check(byForm)).exitCode).toBe(0);
  const { issuer, client_id, redirect_uri } = parse(printed).provider;
  const query = { client_id, redirect_uri, response_type: 'code', scope: 'openid service-energy' };
  const page = await fetch(`${issuer}/protocol/openid-connect/auth?${new URLSearchParams(query)}`);
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('name="password"')]);
  expect(await stop()).toMatchObject({ exitCode: 0 });
  expect(await check()).toMatchObject({ exitCode: 5 });
});

test('prints one configuration for several accounts, each with a meter of its own', async () => {
  const { printed, check } = await simulated('--accounts', '3');
  expect(parse(printed).accounts).toEqual(
    [1, 2, 3].map((n) => ({ id: `flat-${n}`, username: `flat-${n}@example.org`, password: `demo-${n}` })),
  );
  expect((await check()).out.match(/provider for flat-\d: signed in, 1 heat meter/g)).toHaveLength(3);
});

test.each([
  ['wrong-password', 4, /FAILED provider for home: .*refused/],
  ['down', 5, /FAILED provider for home: .*could not be reached/],
  ['html', 5, /FAILED provider for home: .*text\/html/],
  ['late', 0, /provider for home: signed in/],
  ['correction', 0, /provider for home: signed in/],
])('has a bad day: %s', async (fault, exitCode, words) => {
  const { printed, check } = await simulated('--fault', fault);
  expect(printed).toContain('# It has a bad day. ');
  expect(await check()).toMatchObject({ exitCode, out: expect.stringMatching(words) });
});

test.each([
  [['--accounts', '0'], '--accounts: found 0; allowed: a number from 1 to 1000.'],
  [['--fault', 'rain'], '--fault: found rain; allowed: wrong-password, down, slow, late, correction, html.'],
  [['--port', '70000'], '--port: found 70000; allowed: a port from 0 to 65535.'],
])('refuses %s', async (words, message) => {
  await expect(typed(['simulate', ...words])).rejects.toMatchObject({ exitCode: 2, message });
});

test('takes the usual port when it is free, else any, and refuses one that was asked for and is not', async () => {
  const server = createServer();
  const port = await listening(server);
  expect(await freePort(undefined, port)).toBe(0);
  await expect(freePort(port, 1)).rejects.toMatchObject({
    exitCode: 2,
    message: `--port: ${port} is taken; allowed: a free port.`,
  });
  await once(server.close(), 'close');
  expect([await freePort(undefined, port), await freePort(port, 1)]).toEqual([port, port]);
});

const STATE = {
  day: '2026-11-20',
  energy_day: 11.043,
  cost_day: 2.055,
  energy_month: 314.43,
  cost_month: 57.291,
  cost_month_forecast: 80.1,
};
const MONTH = 'This month so far: 314.4 kWh, 57.29 EUR.';

const NO_BILL = { invoice_forecast: null, invoice_forecast_to: null };
const BILL = { invoice_forecast: 91.5, invoice_forecast_to: '2026-11-30' };
const SAID = `Friday 20 November: 11.0 kWh, 2.06 EUR. ${MONTH} About 80.10 EUR by its end`;

test.each([
  [STATE, NO_BILL, `${SAID}.`],
  [STATE, BILL, `${SAID}, as a bill 91.50 EUR.`],
  [STATE, { ...BILL, invoice_forecast_to: '2026-12-31' }, `${SAID}.`],
  [{ ...STATE, cost_day: null, cost_month_forecast: null }, BILL, `Friday 20 November: 11.0 kWh. ${MONTH}`],
  [
    { ...STATE, energy_month: null, cost_month: null, cost_month_forecast: null },
    BILL,
    'Friday 20 November: 11.0 kWh, 2.06 EUR.',
  ],
  [{ day: null }, BILL, 'There is no reading yet.'],
])('the demo on %j and %j', (state, account, sentence) =>
  expect(meterSentence(state, account)).toBe(sentence),
);

const LATER = '2026-11-22T05:25:00+00:00';
const DAY = { event_type: 'corrected', day: '2026-11-20', energy_kwh: 11, cost_eur: 2 };
const LATE = { code: 'data_late', message: 'It is late.' };
const LIST = { topic: 'heat2mqtt/constituencies/dail/34', count: 43 };

test.each<[string, Record<string, unknown>, string | null]>([
  ['bridge/health', { state: 'ok', reasons: [] }, 'Health: ok.'],
  ['bridge/health', { state: 'degraded', reasons: [LATE] }, 'Health: degraded. It is late.'],
  [
    'meter/7/event',
    { ...DAY, old_energy_kwh: 10, old_cost_eur: null },
    'A day was corrected: Friday 20 November, 11.0 kWh, 2.00 EUR, before that 10.0 kWh.',
  ],
  ['bridge/event', { event_type: 'recovered', message: 'Read again.' }, 'Read again.'],
  ['account/home/event', { event_type: 'bill' }, 'Event bill.'],
  [
    'bridge/response/refresh',
    { status: 'skipped', data: { next_at: LATER } },
    `Answer to the request refresh: skipped, possible again at ${timeOfDay(LATER)}.`,
  ],
  [
    'bridge/response/constituencies',
    { status: 'ok', data: LIST },
    'Answer to the request constituencies: ok, 43 on heat2mqtt/constituencies/dail/34.',
  ],
  [
    'bridge/response/brew',
    { status: 'error', error: { code: 'x', message: 'No.' } },
    'Answer to the request brew: error, No.',
  ],
  ['meter/7/usage/day', { buckets: [] }, null],
])('the demo on %s %j', (name, payload, sentence) => expect(sentenceOn(name, payload)).toBe(sentence));

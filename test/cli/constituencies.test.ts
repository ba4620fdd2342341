// heat2mqtt constituencies, typed where there is neither configuration nor account nor broker.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../src/simulator/provider.ts';
import { handClock } from '../support/clock.ts';
import { typed } from '../support/typed.ts';

let simulator: Simulator;

beforeEach(async () => {
  simulator = await startSimulator({ clock: handClock('2026-03-10T12:00:00Z') });
});
afterEach(() => simulator.stop());

const type = (...words: readonly string[]) =>
  typed(['constituencies', ...words], {
    env: { HEAT2MQTT_CONSTITUENCIES_BASE_URL: simulator.urls.constituencies },
  });

const HOUSE = ['--chamber', 'dail', '--house-no', '34'] as const;

test('prints JSON as on MQTT, CSV and a table', async () => {
  const { out, err, exitCode } = await type(...HOUSE, '--format', 'json');
  const rows = JSON.parse(out);
  expect([rows.length, err, exitCode]).toEqual([43, '', 0]);
  expect(rows[0]).toEqual({
    uri: expect.stringMatching(/^https:\/\/data\.oireachtas\.ie\/ie\/oireachtas\/house\/dail\/34\//),
    name: expect.any(String),
    code: expect.any(String),
    type: 'constituency',
    house: { chamber: 'dail', house_no: 34, name: '34th Dáil', uri: expect.stringMatching(/dail\/34$/) },
  });
  const csv = (await type(...HOUSE, '--format', 'csv')).out.trimEnd().split('\r\n');
  expect(csv).toHaveLength(44);
  expect(csv[0]).toBe('uri,name,code,type,chamber,house_no,house_name,house_uri');
  expect(new Set(csv.map((line) => line.split(',').length))).toEqual(new Set([8]));
  const table = (await type(...HOUSE, '--format', 'table')).out.trimEnd().split('\n');
  expect([table[0], table.at(-1)]).toEqual([expect.stringMatching(/^Name +Type +House +Code$/), '43 in all']);
  expect(table.join()).toMatch(/[áéíóúÁÉÍÓÚ]/);
});

test('asks for several houses or a page of them, and without an option for what is configured', async () => {
  const [dail, seanad] = ['/ie/oireachtas/house/dail/33', '/ie/oireachtas/house/seanad/27'] as const;
  const words = ['--chamber-id', dail, '--chamber-id', seanad, '--skip', '1', '--limit', '20'];
  expect(JSON.parse((await type(...words)).out)).toHaveLength(20);
  expect(simulator.requests.at(-1)?.query).toEqual({ chamber_id: seanad, skip: '1', limit: '20' });
  expect(JSON.parse((await type()).out)).toHaveLength(43);
  expect(JSON.parse((await type('--chamber', 'dail')).out).length).toBeGreaterThan(900);
});

test.each([
  [['--limit', '5'], '5 of 43'],
  [['--skip', '100'], '0 of 43'],
])('tells below the table how many there are in all: %s', async (words, last) => {
  const { out, err } = await type(...words, '--format', 'table');
  expect([out.trimEnd().split('\n').at(-1), err]).toEqual([last, '']);
});

test.each([
  [['--chamber', 'commons'], '--chamber: found "commons"'],
  [['--house-no', '0'], '--house-no: found 0'],
  [['--house-no', '3.5'], '--house-no: found "3.5"'],
  [['--chamber-id', 'dail/3'], '--chamber-id: found ["dail/3"]'],
  [['--limit', 'many'], '--limit: found "many"'],
  [['--skip='], '--skip: found ""'],
])('refuses before anything is asked: %s', async (words, message) => {
  await expect(type(...words)).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringContaining(message),
  });
  expect(simulator.requests).toHaveLength(0);
});

test('ends with advice and exit code 5 when the service is in trouble', async () => {
  simulator.switches.fault('/v1/', { kind: 'reset' });
  await expect(type()).rejects.toMatchObject({
    exitCode: 5,
    code: 'provider_unreachable',
    hint: expect.stringContaining('constituencies.base_url'),
  });
});

test('prints JSON as it came when its shape is not known, and a list with gaps with a warning', async () => {
  simulator.switches.constituencies.repeatsFirstPage = true;
  const change = (body: unknown) => ({ ...Object(body), results: Object(body).results.slice(0, 5) });
  simulator.switches.fault('/v1/', { kind: 'change', change });
  const gaps = await type(...HOUSE);
  expect([JSON.parse(gaps.out).length, gaps.err]).toEqual([5, expect.stringContaining('5 of 43')]);
  simulator.switches.clearFaults();
  simulator.switches.constituencies.shape = 'third';
  const { out, err, exitCode } = await type('--format', 'json');
  expect([Object.keys(JSON.parse(out)), exitCode]).toEqual([['constituencies'], 0]);
  expect(err).toContain('shape');
  expect((await type('--format', 'table')).exitCode).toBe(5);
});

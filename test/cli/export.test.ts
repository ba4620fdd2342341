// heat2mqtt export: the days on disk as a spreadsheet or a program takes them.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { StateDirectory } from '../../src/store/stateDirectory.ts';
import { ledgerOf } from '../domain/ledgers.ts';
import { keepMeters, property } from '../support/keptMeters.ts';
import { logLines } from '../support/logLines.ts';
import { openStack } from '../support/stack.ts';
import { environmentAt, typed } from '../support/typed.ts';

const LEDGER = ledgerOf([
  ['2025-03-29', 3, 0.5],
  ['2025-03-30', 4.123456, null],
  ['2025-04-01', 1.5, 0.25],
]);

/** Two accounts, the first with a property that the provider does not list any more. */
async function household(more: Readonly<Record<string, string>> = {}) {
  const stateDir = await openStack().folder();
  const state = new StateDirectory(stateDir, logLines().log);
  const known = property('11', '=SUM(A1)');
  const flat = property('33', '70418235');
  await keepMeters(state, 'home', { listed: [known], kept: [known, property('22')], ledger: LEDGER });
  await keepMeters(state, 'flat', { listed: [flat], kept: [flat], ledger: LEDGER });
  const env = {
    ...environmentAt(stateDir),
    HEAT2MQTT_ACCOUNTS_0_ID: 'home',
    HEAT2MQTT_ACCOUNTS_1_ID: 'flat',
    HEAT2MQTT_ACCOUNTS_1_USERNAME: 'you@example.org',
    HEAT2MQTT_ACCOUNTS_1_PASSWORD: 'other words',
    ...more,
  };
  const exported = (...words: string[]) => typed(['export', ...words], { env });
  return Object.assign(exported, { stateDir });
}

test('prints days as the ledger has them, each with its own hours, and no cell that is a formula', async () => {
  const exported = await household();
  expect((await exported('--account', 'flat')).out.split('\r\n')).toEqual([
    'account,meter,start,end,energy_kwh,cost',
    'flat,70418235,2025-03-29T00:00:00+00:00,2025-03-30T00:00:00+00:00,3,0.5',
    'flat,70418235,2025-03-30T00:00:00+00:00,2025-03-31T00:00:00+01:00,4.123456,',
    'flat,70418235,2025-04-01T00:00:00+01:00,2025-04-02T00:00:00+01:00,1.5,0.25',
    '',
  ]);
  const all = (await exported()).out.split('\r\n').map((line) => line.split(',').slice(0, 2).join());
  expect([...new Set(all)]).toEqual(['account,meter', 'home,_SUM_A1_', 'home,22', 'flat,70418235', '']);
});

test('leaves out what was before an account moved in, and not for the others', async () => {
  const exported = await household({ HEAT2MQTT_ACCOUNTS_1_HISTORY_SINCE: '2025-03-30' });
  const startsOf = async (account: string) => {
    const { out } = await exported('--account', account, '--format', 'json');
    return JSON.parse(out).map(({ start }: { start: string }) => start.slice(0, 10));
  };
  expect(await startsOf('flat')).toEqual(['2025-03-30', '2025-04-01']);
  expect(await startsOf('home')).toContain('2025-03-29');
});

test('adds up weeks and months, and prints revisions in two more columns', async () => {
  const exported = await household();
  const flat = ['--account', 'flat', '--revisions'];
  const { out } = await exported(...flat, '--interval', 'month', '--format', 'json');
  const march = { start: '2025-03-01T00:00:00+00:00', end: '2025-04-01T00:00:00+01:00' };
  const more = { revision: 0, received_at: '1970-01-01T01:00:00+01:00' };
  expect(JSON.parse(out)).toEqual([
    { account: 'flat', meter: '70418235', ...march, energy_kwh: 7.123456, cost: 0.5, ...more },
    expect.objectContaining({ start: march.end, end: '2025-05-01T00:00:00+01:00', energy_kwh: 1.5 }),
  ]);
  expect((await exported('--interval', 'week', '--revisions')).out.split('\r\n')[1]).toContain(
    '2025-03-24T00:00:00+00:00,2025-03-31T00:00:00+01:00,7.123456,0.5,0,',
  );
});

test('prints line protocol with each day at its own first instant, and no field that is not known', async () => {
  const exported = await household();
  const at = (iso: string) => `${Date.parse(iso)}000000`;
  expect((await exported('--account', 'flat', '--format', 'influx')).out.split('\n')).toEqual([
    `heat,account=flat,meter=70418235 energy_kwh=3,cost=0.5 ${at('2025-03-29T00:00:00Z')}`,
    `heat,account=flat,meter=70418235 energy_kwh=4.123456 ${at('2025-03-30T00:00:00Z')}`,
    `heat,account=flat,meter=70418235 energy_kwh=1.5,cost=0.25 ${at('2025-03-31T23:00:00Z')}`,
    '',
  ]);
});

test('tells when nothing is on the disk, and refuses nonsense', async () => {
  const exported = await household();
  const stateDir = await openStack().folder();
  const env = environmentAt(stateDir);
  const { out, err, exitCode } = await typed(['export'], { env });
  expect([out, exitCode]).toEqual(['account,meter,start,end,energy_kwh,cost\r\n', 0]);
  expect(err).toContain('No readings');
  for (const words of [
    ['--interval', 'year'],
    ['--format', 'table'],
    ['--account', 'nobody'],
  ])
    await expect(exported(...words)).rejects.toMatchObject({ exitCode: 2 });
});

test.each([
  ['damaged', '{"version":1,'],
  ['of a newer version', '{"version":99}'],
])('names a ledger that is %s, and leaves it to the daemon', async (_, content) => {
  const exported = await household();
  const folder = join(exported.stateDir, 'accounts/flat');
  await writeFile(join(folder, 'ledger-33.json'), content);
  await writeFile(join(folder, 'ledger-%zz.json'), '{}');
  const { out, err, exitCode } = await exported();
  expect(out.split('\r\n')).toHaveLength(8);
  expect([err, exitCode]).toEqual([
    'Left out, as it is damaged, of a newer version or not readable: accounts/flat/ledger-….\n',
    1,
  ]);
  expect((await readdir(folder)).sort()).toEqual(['context.json', 'ledger-%zz.json', 'ledger-33.json']);
  expect(await readFile(join(folder, 'ledger-33.json'), 'utf8')).toBe(content);
  expect((await exported('--account', 'home')).exitCode).toBe(0);
});

// Who may ask the database what: the questions of examples/fleet/questions.sql, and rights that a worker and a reader do not have.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { expect, test } from 'vitest';
import { ME } from '../e2e/program.ts';
import { ROOT } from '../support/sources.ts';
import { waitFor } from '../support/waitFor.ts';
import { openFlat } from './flat.ts';

test('a reader asks every question of the example: of an empty fleet, with extras off, and with a failing account; and may do nothing else', async () => {
  const flat = await openFlat();
  const { command, postgres, stack } = flat;
  await postgres.run('CREATE ROLE heat2mqtt_worker LOGIN; CREATE ROLE heat2mqtt_reader LOGIN;');
  await command('accounts', 'list');
  const as = async (role: string) => {
    const client = new pg.Client({ connectionString: postgres.urlAs(role) });
    await client.connect();
    stack.defer(() => client.end());
    return async (text: string) => (await client.query(text)).rows;
  };
  const reader = await as('heat2mqtt_reader');
  const example = await readFile(join(ROOT, 'examples/fleet/questions.sql'), 'utf8');
  const [views = '', ...questions] = example.split('\n\n');
  expect(questions).toHaveLength(4);
  const askAll = async () => {
    const answers = [];
    for (const question of questions) answers.push(await reader(question));
    return answers;
  };
  const untilSome = (what: string, text: string) =>
    waitFor(what, async () => (await reader(`SELECT FROM heat2mqtt_views.${text}`)).length > 0);
  expect(await askAll()).toEqual([[], [], [], []]);

  await flat.configure({ extras: { meter_reading: false, balance: false, invoices: false } });
  await flat.import('home', ['wrong', ME.username, 'x']);
  const first = flat.process();
  await untilSome('readings', 'reading');
  await untilSome('a failing account', "account_state WHERE account = 'wrong' AND failures > 0");
  expect((await askAll())[0]).toMatchObject([{ account: 'home' }]);
  await first.end('SIGTERM');
  await flat.configure();
  await command('accounts', 'resume', 'home');
  flat.process();
  await untilSome('invoices', 'invoice');
  await askAll();
  for (const view of ['reading', 'invoice', 'account_state']) {
    const [, columns = ''] = new RegExp(`^-- ${view}: (.+)$`, 'm').exec(views) ?? [];
    const [row = {}] = await reader(`SELECT * FROM heat2mqtt_views.${view} ORDER BY account LIMIT 1`);
    expect(Object.keys(row)).toEqual(columns.split(', '));
    expect(row).toMatchObject({ account: 'home', ...('currency' in row ? { currency: 'EUR' } : {}) });
  }
  await expect(reader('SELECT * FROM heat2mqtt.account')).rejects.toThrow('permission denied');

  const worker = await as('heat2mqtt_worker');
  expect(await worker('SELECT id FROM heat2mqtt.account')).toHaveLength(2);
  await expect(worker('DROP TABLE heat2mqtt.reading')).rejects.toThrow('must be owner');
  await expect(worker('CREATE TABLE heat2mqtt.more ()')).rejects.toThrow('permission denied');
  await expect(worker('TRUNCATE heat2mqtt.document')).rejects.toThrow('permission denied');
});

// Who may ask the database what: the questions of docs/fleet.md, and rights that a worker and a reader do not have.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { expect, test } from 'vitest';
import { ROOT } from '../support/sources.ts';
import { openFleet } from './fleet.ts';
import { waitForTruth } from './truth.ts';

test('the questions of the page have answers; a reader sees the views only, and a worker changes no table', async () => {
  const fleet = await openFleet({ accounts: 3, seed: 1, everySeconds: 20 });
  const { postgres, stack, places, people } = fleet;
  await fleet.import();
  const listener = await fleet.listen();
  await places[0]?.start();
  await waitForTruth(fleet, listener);
  const as = async (role: string) => {
    const client = new pg.Client({ connectionString: postgres.urlAs(role) });
    await client.connect();
    stack.defer(() => client.end());
    return async (text: string) => (await client.query(text)).rows;
  };
  const reader = await as('heat2mqtt_reader');
  const page = await readFile(join(ROOT, 'docs/fleet.md'), 'utf8');
  const questions = [...page.matchAll(/^```sql\n([\s\S]*?)^```$/gm)].map(([, sql = '']) => sql);
  expect(questions).toHaveLength(4);
  for (const question of questions) expect(await reader(question)).toBeInstanceOf(Array);
  const views = ['reading', 'invoice', 'account_state'];
  for (const view of views) {
    const [, columns = ''] = new RegExp(`^\\| \`${view}\` \\| \`(.+)\` \\|$`, 'm').exec(page) ?? [];
    const [row = {}] = await reader(`SELECT * FROM heat2mqtt_views.${view} ORDER BY account LIMIT 1`);
    expect(Object.keys(row)).toEqual(columns.split(', '));
    expect(row.account).toBe(people[0]?.id);
  }
  await expect(reader('SELECT * FROM heat2mqtt.account')).rejects.toThrow('permission denied');

  const worker = await as('heat2mqtt_worker');
  expect(await worker('SELECT id FROM heat2mqtt.account')).toHaveLength(3);
  await expect(worker('DROP TABLE heat2mqtt.reading')).rejects.toThrow('must be owner');
  await expect(worker('CREATE TABLE heat2mqtt.more ()')).rejects.toThrow('permission denied');
  await expect(worker('TRUNCATE heat2mqtt.document')).rejects.toThrow('permission denied');
});

// Another client of such services, the public one in Python, against `heat2mqtt simulate`: every call that it has, and
// the same kWh and EUR for the same days as heat2mqtt itself.
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { startChild } from '../support/child.ts';
import { ROOT } from '../support/sources.ts';
import { openStack } from '../support/stack.ts';
import { outcome, run } from './program.ts';

/** A Python with the packages of pythonClient.txt. */
const { HEAT2MQTT_PYTHON: PYTHON = '' } = process.env;
const isThere = existsSync(PYTHON);
if (!isThere)
  process.stderr.write('\n!! LEFT OUT: the Python client; HEAT2MQTT_PYTHON names no Python with it\n\n');

interface Reading {
  readonly date: string;
  readonly kwh: number;
  readonly eur: number;
}

const YEAR = new Date().getFullYear() - 1;
const DAY_MS = 86_400_000;
const dayBefore = (date: string) => new Date(Date.parse(date) - DAY_MS).toISOString().slice(0, 10);
/** We round to three decimals. */
const isNear = (theirs: number, ours = Number.NaN) => Math.abs(theirs - ours) < 0.000_6;
const total = (rows: readonly Reading[], key: 'kwh' | 'eur') => rows.reduce((sum, row) => sum + row[key], 0);

test.skipIf(!isThere)(
  'the Python client gets an answer to every call, and the figures that heat2mqtt has',
  async () => {
    const stack = openStack();
    const folder = await stack.folder();
    const simulate = stack.use(run(['simulate', '--port', '0']));
    await simulate.says('state_dir');
    const { provider, accounts } = parse(simulate.output);
    const given = {
      ...provider,
      ...accounts[0],
      origin: new URL(provider.issuer).origin,
      from: `${YEAR}-01-01T00:00:00Z`,
      to: `${YEAR}-12-31T23:59:59Z`,
    };
    const client = startChild(PYTHON, [join(ROOT, 'test/e2e/pythonClient.py'), JSON.stringify(given)]);
    expect([await client.exited, client.errors]).toEqual([0, '']);
    const told = JSON.parse(client.output);

    const config = join(folder, 'simulated.yaml');
    await writeFile(config, simulate.output);
    const days = ['--from', `${YEAR - 1}-12-31`, '--to', `${YEAR}-12-30`, '--format', 'json'];
    const env = { HEAT2MQTT_STATE_DIR: folder };
    const usage = await outcome(['usage', '--config', config, ...days], { env });
    const own = new Map<string, { energy_kwh: number; cost_eur: number }>(
      JSON.parse(usage.output).map((row: { start: string }) => [row.start, row]),
    );

    const reports: Record<string, Reading[]> = told.reports;
    const { day = [], ...longer } = reports;
    const compared = day.flatMap(({ date, kwh, eur }) => {
      const month = Number(date.slice(5, 7));
      // Its days are those of UTC: in winter the reading of midnight is on the next one.
      const winter = month < 3 || month > 10;
      const summer = month > 3 && month < 10;
      const same = own.get(winter ? dayBefore(date) : date.slice(0, 10));
      if ((!winter && !summer) || kwh === 0) return [];
      const isSame = isNear(kwh, same?.energy_kwh) && isNear(eur, same?.cost_eur);
      return [isSame ? 'same' : `${date}: ${kwh} kWh, ${eur} EUR; ${JSON.stringify(same)}`];
    });
    expect(compared.length).toBeGreaterThan(250);
    expect(compared.filter((one) => one !== 'same')).toEqual([]);
    const ownKwh = [...own.values()].reduce((sum, { energy_kwh }) => sum + energy_kwh, 0);
    for (const readings of [day, ...Object.values(longer)]) {
      expect(total(readings, 'kwh')).toBeCloseTo(ownKwh, 1);
      expect(total(readings, 'eur')).toBeCloseTo(total(day, 'eur'), 6);
    }

    expect(told.context).toMatchObject({
      meter_identifier: '70418235',
      person_customer_id: expect.any(Number),
    });
    expect(told.person_customer).toMatchObject({
      status: 'active',
      contact_infos: [{ email: given.username }],
    });
    expect(told.credit_balances.objects).toMatchObject([{ amount: 0 }]);
    const [running, newest] = told.invoices.objects;
    expect(running.status).toBe('active');
    expect(newest.status).toBe(newest.due_amount > 0 ? 'billing' : 'closed');
    expect(told.bill).toEqual(newest);
    expect(told.open_bill_due).toEqual({ open_bill_due: newest.due_amount });
    expect(told.usage_events.objects).toHaveLength(5);
    expect(told.usage_events.objects[0]).toMatchObject({
      service_type: 'HEAT_METER_READ_SERVICE',
      quantity: expect.any(Number),
      fields: { meter_value_unit: 'kWh', reading_type: 'A', property_code: expect.any(String) },
    });
    expect(told).toMatchObject({ sessions: 3, refused: expect.stringContaining('credentials') });
  },
);

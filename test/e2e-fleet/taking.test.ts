// Jobs and claims are taken together: whoever ends in between has neither, and the account waits for nobody.
import { expect, test } from 'vitest';
import { ME } from '../e2e/program.ts';
import { STATE } from '../support/homes.ts';
import { waitFor } from '../support/waitFor.ts';
import { openFlat } from './flat.ts';

test('an account that could not be claimed leaves its job to others', async () => {
  const flat = await openFlat();
  const { postgres, command } = flat;
  const probe = await flat.listen();
  await command('accounts', 'import', await flat.logins(['home', ME.username, ME.password]));
  await postgres.query(
    `CREATE FUNCTION refuse() RETURNS trigger AS $$ BEGIN RAISE 'not now'; END $$ LANGUAGE plpgsql`,
  );
  await postgres.query(
    'CREATE TRIGGER refuse BEFORE UPDATE OF fence ON heat2mqtt.account FOR EACH ROW EXECUTE FUNCTION refuse()',
  );
  const worker = flat.process();
  await waitFor('a claim that fails', () => worker.output.includes('the fleet met a fault'));
  const [job] = await postgres.query(`SELECT state FROM heat2mqtt_engine.job WHERE singleton_key = 'home'`);
  expect(job).toEqual({ state: 'created' });
  await postgres.query('DROP TRIGGER refuse ON heat2mqtt.account');
  await probe.until(STATE);
});

// Sheets for every flat of a house: each with the area of its own meter, one file a meter, for nobody else to read.
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { daysOf } from '../../src/domain/period.ts';
import { home, METER, PROPERTY, person, reading } from '../support/homes.ts';
import { openStack } from '../support/stack.ts';
import { firstPoll } from '../support/story.ts';

const SECOND = '70555001';
const DAYS = daysOf({ from: '2025-01-01', to: '2025-03-10' });
const using = (kwh: number) => ({ events: DAYS.map((day) => reading(day, kwh, 1.9)) });
const CONFIG = { statement: { area_m2: 50 }, meters: { [METER]: { area_m2: 80 } } };

test('an area for each meter, one document for an account with two, and a private file for each', async () => {
  const flats = [home(METER, using(10)), home(SECOND, using(20), PROPERTY + 1)];
  const { story, probe } = await firstPoll({ accounts: [person('me', flats)], config: CONFIG });
  const type = (words: string) => story.type(words, CONFIG);
  await probe.until(`heat2mqtt/meter/${SECOND}/statement`);
  const told = JSON.parse((await type('statement --format json')).out);
  expect(told).toMatchObject([
    { meter: METER, energy_per_m2: { value: 3.5, basis: { keys: [`meters.${METER}.area_m2`] } } },
    { meter: SECOND, energy_per_m2: { value: 11.2, basis: { keys: ['statement.area_m2'] } } },
  ]);
  const { out: page } = await type('statement --format html');
  expect([page.match(/<main/g)?.length, page.match(/<!doctype/g)?.length]).toEqual([2, 1]);
  expect(page).toMatch(new RegExp(`${METER}[\\s\\S]*${SECOND}[\\s\\S]*</html>\\n$`));

  const folder = join(await openStack().folder(), 'sheets');
  const { out, exitCode } = await type(`statement 2025-02 --all --output ${folder}`);
  const names = [`home-${METER}-2025-02.html`, `home-${SECOND}-2025-02.html`];
  expect([exitCode, out]).toEqual([0, names.map((name) => `${join(folder, name)}\n`).join('')]);
  expect(await readdir(folder)).toEqual(names);
  const modes = await Promise.all(
    [folder, ...names.map((name) => join(folder, name))].map((path) => stat(path)),
  );
  expect(modes.map(({ mode }) => mode & 0o777)).toEqual([0o700, 0o600, 0o600]);
  const alone = await type(`statement 2025-02 --meter ${SECOND} --format html`);
  expect(await readFile(join(folder, names[1] ?? ''), 'utf8')).toBe(alone.out);
  // Told once, and not for each of the accounts.
  const taken = join(folder, names[0] ?? '');
  await expect(type(`statement --all --output ${taken}`)).rejects.toMatchObject({
    code: 'file_unwritable',
    exitCode: 2,
    message: expect.stringContaining('cannot be written (ENOTDIR)'),
  });
  for (const words of ['--all', `--all --account home --output ${folder}`])
    await expect(type(`statement ${words}`)).rejects.toMatchObject({ exitCode: 2 });
});

// A state directory that cannot be written: told in one reason, lived with from memory, made good when it can be again.
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { booked, HEALTH, ME, STATE } from '../support/homes.ts';
import { HOUR_MS, openHouse } from '../support/house.ts';
import { waitFor } from '../support/waitFor.ts';

/** Root may write everywhere, so a regular file stands where the directory should be. */
async function blockedHouse() {
  const house = await openHouse();
  const inTheWay = join(house.stateDir, 'in-the-way');
  await writeFile(inTheWay, '');
  const state_dir = join(inTheWay, 'state');
  const probe = await house.listen();
  const reasons = () => (probe.json(HEALTH)?.reasons ?? []) as { code: string; message: string }[];
  return { house, probe, inTheWay, state_dir, reasons };
}

test('published from memory, health says why, and one beat after the cure everything is on the disk', async () => {
  const { house, probe, inTheWay, state_dir, reasons } = await blockedHouse();
  const daemon = await house.start({ state_dir });
  const first = await probe.until(STATE, () => true);
  expect(first.energy_total).toBeCloseTo(booked(house.simulator).kwh, 3);
  await waitFor('the reason', () => reasons().length > 0);
  expect(reasons()).toEqual([
    {
      code: 'state_unwritable',
      message: `The state directory cannot be written: ${state_dir} (ENOTDIR).`,
      hint: expect.any(String),
    },
  ]);

  house.clock.advance(24 * HOUR_MS);
  house.tick();
  const next = await probe.until(STATE, ({ day }) => day !== first.day);
  expect(next.energy_total).toBeCloseTo(booked(house.simulator).kwh, 3);
  expect(reasons().map(({ code }) => code)).toEqual(['state_unwritable']);

  await rm(inTheWay);
  await house.pass(6_000);
  await waitFor('good health', () => reasons().length === 0);
  expect((await readdir(join(state_dir, 'accounts/home'))).sort()).toEqual([
    'context.json',
    'extras.json',
    'ledger-512001.json',
    'tokens.json',
  ]);
  expect((await readdir(state_dir)).sort()).toEqual([
    'accounts',
    'announced.json',
    'installation.json',
    'journal.json',
    'replies.json',
  ]);
  const requests = house.simulator.requests.length;
  await house.stop(daemon);
  await house.start({ state_dir });
  await house.pass(10_000);
  expect(house.simulator.requests.length).toBe(requests);
});

test('a refused login is held back all the same', async () => {
  const { house, state_dir, reasons } = await blockedHouse();
  house.simulator.changePassword(ME.username, 'another one');
  await house.start({ state_dir });
  await house.polled(1);
  for (const poll of [2, 3]) {
    house.tick();
    await house.polled(poll);
  }
  expect(house.simulator.counters.passwordGrants.asked).toBe(1);
  await waitFor('the reason', () => reasons().some(({ code }) => code === 'state_unwritable'));
});

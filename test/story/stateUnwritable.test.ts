// A state directory that cannot be written: told in one reason, lived with from memory, made good when it can be again.
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { booked, HEALTH, ME, STATE } from '../support/homes.ts';
import { untilTrue } from '../support/rest.ts';
import { HOUR_MS, openStory } from '../support/story.ts';

/** Root may write everywhere, so a regular file is where the directory should be. */
async function blockedStory() {
  const story = await openStory();
  const inTheWay = join(story.stateDir, 'in-the-way');
  await writeFile(inTheWay, '');
  const state_dir = join(inTheWay, 'state');
  const probe = await story.listen();
  const reasons = () => (probe.json(HEALTH)?.reasons ?? []) as { code: string; message: string }[];
  return { story, probe, inTheWay, state_dir, reasons };
}

test('published from memory, health says why, and one beat after the cure everything is on the disk', async () => {
  const { story, probe, inTheWay, state_dir, reasons } = await blockedStory();
  const daemon = await story.start({ state_dir });
  const first = await probe.until(STATE);
  expect(first.energy_total).toBeCloseTo(booked(story.simulator).kwh, 3);
  await untilTrue('the reason', () => reasons().length > 0);
  expect(reasons()).toEqual([
    {
      code: 'state_unwritable',
      message: `The state directory cannot be written: ${state_dir} (ENOTDIR).`,
      hint: expect.any(String),
    },
  ]);

  story.clock.advance(24 * HOUR_MS);
  story.tick();
  const next = await probe.until(STATE, ({ day }) => day !== first.day);
  expect(next.energy_total).toBeCloseTo(booked(story.simulator).kwh, 3);
  expect(reasons().map(({ code }) => code)).toEqual(['state_unwritable']);
  // Some are written many times a day, and the log names each once.
  const unsaved = story.logged('state document could not be saved').map(({ document }) => document);
  expect(unsaved).toEqual([...new Set(unsaved)]);
  expect(unsaved).toEqual(expect.arrayContaining(['accounts/home/extras', 'accounts/home/ledger-512001']));

  await rm(inTheWay);
  await story.pass(6_000);
  await untilTrue('good health', () => reasons().length === 0);
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
  const requests = story.simulator.requests.length;
  await story.stop(daemon);
  await story.start({ state_dir });
  await story.pass(10_000);
  expect(story.simulator.requests.length).toBe(requests);
});

test('a refused login suspends the next one all the same', async () => {
  const { story, state_dir, reasons } = await blockedStory();
  story.simulator.changePassword(ME.username, 'another one');
  await story.start({ state_dir });
  await story.polled(1);
  for (const _ of [2, 3]) await story.nextPoll();
  expect(story.simulator.counters.passwordGrants.asked).toBe(1);
  await untilTrue('the reason', () => reasons().some(({ code }) => code === 'state_unwritable'));
});

// A ledger lost again and again, a hundred thousand steps long, beside a provider that forgets and remembers.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { beginning, expectNewestWords, fates, suffer } from '../domain/losses.ts';

const RUNS = Number(process.env.HEAT2MQTT_PROPERTY_RUNS ?? 20_000);
const STEPS_IN_A_RUN = 5;

test('lost at any moment: every total is the newest words, and no day counts twice', () => {
  const counts = { steps: 0, losses: 0, deaf: 0, forgotten: 0, returned: 0, complete: 0 };
  fc.assert(
    fc.property(fates, (all) => {
      let lives = beginning();
      for (const [at, fate] of all.entries()) {
        const before = lives.forgotten.size;
        lives = suffer(lives, fate, at + 1);
        counts.steps += 1;
        counts.losses += Number(fate.loses);
        counts.deaf += Number(fate.loses && fate.isDeaf);
        counts.forgotten += Math.max(0, lives.forgotten.size - before);
        counts.returned += Math.max(0, before - lives.forgotten.size);
        counts.complete += Number(lives.life.ledger.complete);
        expectNewestWords(lives, fate);
      }
    }),
    { numRuns: RUNS },
  );
  process.stdout.write(`${JSON.stringify(counts)}\n`);
  expect(counts.steps).toBeGreaterThan(RUNS * STEPS_IN_A_RUN);
});

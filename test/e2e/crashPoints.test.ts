// kill -9 before and after each thing that the turn of a day does to the disk, the broker and the provider, and a start after each.
import { expect, test } from 'vitest';
import { BOTH, DyingHome, type Id } from './dyingHome.ts';

// There are some 120 points; all of them (HEAT2MQTT_CRASH_STEP=1) take ten minutes.
const STEP = Number(process.env.HEAT2MQTT_CRASH_STEP ?? 7);

const COMING_AND_GOING = (round: number): readonly Id[] => (round % 2 === 0 ? BOTH : ['first']);

test.each([
  { what: 'stay', accountsOf: () => BOTH },
  { what: 'come and go', accountsOf: COMING_AND_GOING },
])(
  'tells every event and none that is noted, clears topics and makes no login, wherever a turn is killed, when accounts $what',
  { timeout: 300_000 + 3_000_000 / STEP },
  async ({ accountsOf }) => {
    const home = await DyingHome.open();
    await home.settle(BOTH, { isFirst: true });
    let points = 0;
    for (let died: string | null = ''; died !== null; ) {
      home.nextDay();
      const accounts = accountsOf(points);
      died = await home.dieAt(1 + points * STEP, accounts);
      await home.settle(accounts);
      if (died !== null) points += 1;
    }
    home.nextDay();
    await home.settle(BOTH, { withBills: true });
    home.expectEverythingTold();
    process.stdout.write(`${JSON.stringify({ points, ...home.figures })}\n`);
    expect(points * STEP).toBeGreaterThan(40);
  },
);

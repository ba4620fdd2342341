// Whatever befalls Home Assistant between two runs: after the next thorough one it has stored the ledger, row by row.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Ledger, merge } from '../../src/domain/ledger.ts';
import { addDays, zone } from '../../src/domain/period.ts';
import { statisticsRows } from '../../src/domain/statistics.ts';
import { systemClock } from '../../src/foundation/clock.ts';
import { openHomeAssistant } from '../../src/homeassistant/connection.ts';
import { bringUpToDate, seriesOf } from '../../src/homeassistant/recorder.ts';
import { bucket, ledgerOf, row } from '../domain/ledgers.ts';
import type { KeptRow } from '../support/pretendHomeAssistant.ts';
import { type PretendHomeAssistant, startPretendHomeAssistant } from '../support/pretendHomeAssistant.ts';
import { RUNS } from '../support/property.ts';
import { openStack } from '../support/stack.ts';

const DUBLIN = zone('Europe/Dublin');
const [SERIES] = seriesOf('heat2mqtt', { meter: 'x', friendlyName: null, currency: 'EUR' }, ['x']);
const DAYS = 90;

interface World {
  readonly ha: PretendHomeAssistant;
  ledger: Ledger;
  backup: Map<number, KeptRow>;
}
type Deed = (world: World) => void;

const stored = ({ ha }: World): Map<number, KeptRow> => ha.series.get(SERIES?.id ?? '') ?? new Map();

const told = (at: number, kwh: number): Deed => {
  return (world) => {
    const line = [addDays('2025-03-01', at), kwh, 1] as const;
    world.ledger = merge(world.ledger, [bucket(line)], 2).ledger;
  };
};

const DEEDS: fc.Arbitrary<Deed> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(fc.nat(DAYS + 30), fc.integer({ min: 0, max: 30 })).map((t) => told(...t)),
  },
  fc.constant<Deed>(({ ha }) => {
    ha.series.clear();
    ha.metadata.clear();
  }),
  fc.constant<Deed>((world) => {
    world.backup = new Map(stored(world));
  }),
  fc.constant<Deed>((world) => {
    world.ha.series.set(SERIES?.id ?? '', new Map(world.backup));
  }),
  fc.constant<Deed>(({ ha }) => {
    ha.switches.cutAfterImports = 1;
  }),
  fc.nat(DAYS).map<Deed>((at) => (world) => {
    const start = [...stored(world).keys()][at];
    if (start !== undefined) stored(world).set(start, { state: 1, sum: -5 });
  }),
);

async function look({ ha, ledger }: World, thorough: boolean): Promise<boolean> {
  const signal = new AbortController().signal;
  const home = await openHomeAssistant({ url: ha.url, token: ha.switches.token }, systemClock, signal);
  const options = { ledger, zone: DUBLIN, clock: systemClock, signal, thorough, onProgress: () => undefined };
  try {
    if (SERIES) await bringUpToDate(home, SERIES, options);
    return true;
  } catch {
    return false;
  } finally {
    home.close();
  }
}

test('in the end there is nothing but the ledger', { timeout: 120_000 }, async () => {
  const ha = openStack().use(await startPretendHomeAssistant());
  await fc.assert(
    fc.asyncProperty(fc.array(DEEDS, { minLength: 1, maxLength: 12 }), async (deeds) => {
      const ledger = ledgerOf(row('2025-03-01', DAYS, 10, 2), { today: '2025-12-31' });
      const world: World = { ha, ledger, backup: new Map() };
      ha.series.clear();
      ha.metadata.clear();
      ha.switches.cutAfterImports = Number.POSITIVE_INFINITY;
      let wentWell = await look(world, true);
      for (const deed of deeds) {
        deed(world);
        wentWell = await look(world, !wentWell);
      }
      ha.switches.cutAfterImports = Number.POSITIVE_INFINITY;
      expect(await look(world, true)).toBe(true);
      const rows = statisticsRows(world.ledger, 'energy', DUBLIN);
      expect(ha.rows(SERIES?.id ?? '')).toEqual(
        rows.map(({ start, state, sum }) => [new Date(start).toISOString(), state, sum]),
      );
      expect(await look(world, false)).toBe(true);
    }),
    { numRuns: Math.ceil(RUNS / 5) },
  );
});

// A lost ledger, put together from what is retained on the broker and what has been read since.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openLedger } from '../../src/domain/ledger.ts';
import { type RetainedHistory, readRetainedHistory, restoreLedger } from '../../src/domain/recovery.ts';
import { totals } from '../../src/domain/totals.ts';
import { Topics } from '../../src/publication/topics.ts';
import { meterMessages, meterView } from '../support/inventedHome.ts';
import { holds } from '../support/property.ts';
import { amounts, type Line, ledgerOf, row } from './ledgers.ts';
import { believableTurns, birth, live, wordsAddedUp } from './providerModel.ts';

const ORIGIN = '2025-01-01';
const CUT = { timezone: 'Europe/Dublin', readingCloses: 'same_day' } as const;
const memoryOf = (...lines: readonly Line[]): RetainedHistory => ({ ...CUT, ...ledgerOf(lines) });

const FIRST: Line = ['2025-01-01', 10, 1];
const SECOND: Line = ['2025-01-02', 20, 2];
const FOURTH: Line = ['2025-01-04', 30, 3];
const THREE = memoryOf(FIRST, SECOND, FOURTH);

test('days of net credit come back from the retained history too, and what is not known stays so', () => {
  const ledger = ledgerOf([FIRST, ['2025-01-02', 1, 0], ['2025-01-03', 2, null]]);
  const days = new Map(ledger.days).set('2025-01-02', { ...amounts(-1, -0.5), revision: 0, receivedAt: 1 });
  const published = meterMessages(new Topics('heat2mqtt'), meterView({ ...ledger, days }));
  const history = published.find(({ topic }) => topic.endsWith('/history'));
  const found = readRetainedHistory(Buffer.from(history?.payload ?? ''));
  expect(found?.days.get('2025-01-02')).toEqual(amounts(-1, -0.5));
  expect(found?.days.get('2025-01-03')).toEqual(amounts(2, null));
});

test.each([
  ['of ours', ORIGIN, true],
  ['of nobody: a day lies before its origin', SECOND[0], false],
  ['of nobody: it begins before there were meters', '0001-01-01', false],
])('a history %s', (_name, origin, isOurs) => {
  const days = [FIRST, SECOND];
  const json = { schema: 1, timezone: 'Europe/Dublin', reading_closes: 'same_day', origin, days };
  expect(readRetainedHistory(Buffer.from(JSON.stringify(json))) !== null).toBe(isOurs);
});

test('a megabyte of rows of nothing is of nobody, and found to be so in no time', () => {
  const head = `{"schema":1,"timezone":"Europe/Dublin","reading_closes":"same_day","origin":"${ORIGIN}"`;
  const payload = Buffer.from(`${head},"days":[${Array(500_000).fill('1').join(',')}]}`);
  const heap = process.memoryUsage().heapUsed;
  const cpu = process.cpuUsage();
  expect(readRetainedHistory(payload)).toBeNull();
  expect(process.cpuUsage(cpu).user / 1000).toBeLessThan(1_000);
  expect(process.memoryUsage().heapUsed - heap).toBeLessThan(100_000_000);
});

test.each(['2025-02-01', '2024-12-01'])('not our own origin (%s) counts but the remembered one', (own) => {
  const ledger = restoreLedger(ledgerOf(row('2024-12-30', 60, 1, 1), { origin: own }), THREE, 9);
  expect(ledger).toMatchObject({ origin: ORIGIN, readTo: ORIGIN, complete: false });
  expect([...ledger.days.keys()].sort()[0]).toBe(ORIGIN);
  const newest = own > ORIGIN ? { ...amounts(20, 2), receivedAt: 9 } : { ...amounts(1, 1), receivedAt: 1 };
  expect(ledger.days.get('2025-01-02')).toEqual({ ...newest, revision: 0 });
  // The history is still to be read from there: nothing is told of it before.
  expect(ledger.days.has('2025-02-10')).toBe(true);
});

test('with our own origin nothing is read again; what was read since counts, and absence erases nothing', () => {
  const ledger = restoreLedger(ledgerOf([['2025-01-02', 21, null]], { origin: ORIGIN }), THREE, 9);
  expect(ledger).toMatchObject({ origin: ORIGIN, complete: true });
  expect(ledger.days.get('2025-01-02')).toMatchObject(amounts(21, 2));
  expect([...ledger.days.keys()].sort()).toEqual([...THREE.days.keys()]);
});

test('lost after any poll and put together some polls later, it tells the newest word given for each day', () => {
  holds(believableTurns, fc.nat({ max: 24 }), fc.nat({ max: 3 }), (turns, lostAt, deafFor) => {
    let life = birth();
    let retained: RetainedHistory | null = null;
    for (const [at, turn] of turns.entries()) {
      life = live(life, turn, at + 1);
      const { origin, days, complete } = life.ledger;
      if (at === lostAt && complete) {
        retained = { ...CUT, origin, days };
        life = { ...life, ledger: openLedger(origin) };
      }
      if (retained !== null && at >= lostAt + deafFor) {
        life = { ...life, ledger: restoreLedger(life.ledger, retained, at) };
        retained = null;
      }
      if (retained !== null) continue;
      expect(totals(life.ledger, life.today).total).toEqual(wordsAddedUp(life));
    }
  });
});

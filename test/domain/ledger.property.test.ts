// Whatever a provider does: totals are the sum of its newest words, corrections move them exactly, order is nothing.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LONGEST_QUESTION_DAYS, merge, openLedger, questions } from '../../src/domain/ledger.ts';
import { addDays, daysBetween } from '../../src/domain/period.ts';
import type { Bucket } from '../../src/domain/reading.ts';
import { totals } from '../../src/domain/totals.ts';
import { holds } from '../support/property.ts';
import {
  anyTurns,
  believableTurns,
  birth,
  type Life,
  live,
  plausible,
  REREAD_DAYS,
  restarted,
  shuffled,
  type Turn,
  wordsAddedUp,
} from './providerModel.ts';

const QUIET: Turn = { daysPass: 0, deeds: [], answers: null, shuffle: 0, repeats: 0, restart: false };

/** Lives all turns and looks at every step. */
function lives(turns: readonly Turn[], look: (life: Life, turn: Turn, before: Life) => void): Life {
  let life = birth();
  for (const [at, turn] of turns.entries()) {
    const before = life;
    life = live(life, turn, at + 1);
    look(life, turn, before);
  }
  return life;
}

test('the totals are the sum of the newest word given for each day, through restarts and failures', () => {
  holds(believableTurns, (turns) => {
    lives(turns, (life) => {
      expect(totals(life.ledger, life.today).total).toEqual(wordsAddedUp(life));
      expect(life.ledger.quarantined.size).toBe(0);
    });
  });
});

test('what the provider says within the trailing window is known after the poll', () => {
  holds(believableTurns, (turns) => {
    lives(turns, ({ ledger, truth, today }, { answers }, before) => {
      if (answers !== null) return;
      const from = addDays(before.ledger.readTo < today ? before.ledger.readTo : today, -REREAD_DAYS + 1);
      for (const [day, { energy, cost }] of truth) {
        if (day < from || day < ledger.origin || day > today) continue;
        if (energy !== null) expect(ledger.days.get(day)?.energy).toBe(energy);
        if (cost !== null) expect(ledger.days.get(day)?.cost).toBe(cost);
      }
    });
  });
});

test('whatever the amounts, a day is counted after two quiet polls at the latest, after a silence of years after three', () => {
  holds(anyTurns, (turns) => {
    const busy = lives(turns, () => undefined);
    // The first one may be that which hears of days behind a silence, and has the next one ask for those in it.
    const quiet = live(live(live(busy, QUIET, 100), QUIET, 101), QUIET, 102);
    for (const [day, { timesChanged }] of quiet.ledger.quarantined) {
      // A clock that ran back has not come to that day yet; one that always changed is not asked for any more.
      expect(day > quiet.today || timesChanged >= 5).toBe(true);
    }
  });
});

test('a poll of a complete ledger is one question, tiling from the window to tomorrow without a hole', () => {
  holds(anyTurns, (turns) => {
    lives(turns, ({ today }, _turn, before) => {
      const asked = questions(before.ledger, today, REREAD_DAYS);
      let reached = asked[0]?.from;
      for (const span of asked) {
        expect(span.from).toBe(reached);
        expect(daysBetween(span.from, span.to)).toBeLessThanOrEqual(LONGEST_QUESTION_DAYS);
        reached = span.to;
      }
      expect(reached).toBe(addDays(today, 1));
      const isOrdinary = before.ledger.complete && before.ledger.quarantined.size === 0;
      if (isOrdinary && daysBetween(before.today, today) < 7) {
        if (before.asked.length > 0 && before.ledger.readTo > before.today) expect(asked).toHaveLength(1);
      }
    });
  });
});

const someDays = fc
  .uniqueArray(fc.tuple(fc.nat({ max: 900 }), plausible, plausible), {
    selector: ([at]) => at,
    maxLength: 60,
  })
  .map((rows) =>
    rows.map(([at, energy, cost]): Bucket => ({ day: addDays('2024-01-01', at), energy, cost })),
  );
const opened = (reply: readonly Bucket[]) => merge(openLedger('2024-01-01'), reply, 1).ledger;

test('the order of arrival does not matter, nor how the days are cut into replies, nor repeating them', () => {
  holds(someDays, fc.nat(), fc.integer({ min: 1, max: 20 }), (days, seed, size) => {
    const mixed = shuffled([...days, ...days.slice(0, 5)], seed);
    let ledger = openLedger('2024-01-01');
    for (let at = 0; at < mixed.length; at += size) {
      ledger = merge(ledger, mixed.slice(at, at + size), 1).ledger;
    }
    const inOrder = (one: typeof ledger) => [...one.days].sort(([a], [b]) => a.localeCompare(b));
    expect(inOrder(ledger)).toEqual(inOrder(opened(days)));
    expect(totals(ledger, '2026-01-01')).toEqual(totals(opened(days), '2026-01-01'));
  });
});

test('a ledger survives the disk, quarantined days and all', () => {
  holds(anyTurns, (turns) => {
    const { ledger } = lives(turns, () => undefined);
    expect(restarted(ledger)).toEqual(ledger);
  });
});

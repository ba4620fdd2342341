// Polls while the clock is wrong: once it is right, no day is missing.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Ledger, markRead, merge, openLedger, questions } from '../../src/domain/ledger.ts';
import { addDays, type Day } from '../../src/domain/period.ts';
import { holds } from '../support/property.ts';
import { bucket } from './ledgers.ts';

const ORIGIN = '2024-01-01';
const BEGINS = '2024-06-01';

/** The poll of a clock that shows `shown` while the provider has readings up to `real`. */
function poll(ledger: Ledger, real: Day, shown: Day): Ledger {
  return questions(ledger, shown, 14).reduce((before, span) => {
    const given = daysFrom(span.from < ORIGIN ? ORIGIN : span.from, span.to).filter((day) => day <= real);
    const { ledger: merged } = merge(
      before,
      given.map((day) => bucket([day, 5, 1])),
      1,
      span,
    );
    return markRead(merged, span, shown);
  }, ledger);
}

function daysFrom(from: Day, to: Day): Day[] {
  const days: Day[] = [];
  for (let day = from; day < to; day = addDays(day, 1)) days.push(day);
  return days;
}

const turns = fc.array(
  fc.record({
    /** Days that pass without a poll. */
    pass: fc.integer({ min: 0, max: 200 }),
    /** How far the clock is off. */
    ahead: fc.oneof(fc.constant(0), fc.integer({ min: -300, max: 800 })),
  }),
  { minLength: 1, maxLength: 4 },
);

/** Polls at wrong clocks, then one at the right one. */
function daysAfter(wrong: readonly { readonly pass: number; readonly ahead: number }[], pass: number) {
  let real = BEGINS;
  let ledger = poll(openLedger(ORIGIN), real, real);
  for (const turn of wrong) {
    real = addDays(real, turn.pass);
    ledger = poll(ledger, real, addDays(real, turn.ahead));
  }
  real = addDays(real, pass);
  ledger = poll(ledger, real, real);
  return { days: [...ledger.days.keys()].sort(), expected: daysFrom(ORIGIN, addDays(real, 1)) };
}

test('a clock that is ahead by a year twice within a week leaves no day out', () => {
  const wrong = [
    { pass: 0, ahead: 361 },
    { pass: 157, ahead: 210 },
  ];
  const { days, expected } = daysAfter(wrong, 0);
  expect(days).toEqual(expected);
});

test('however far the clock was ahead or behind at earlier polls, the polls of a right one leave no day out', () => {
  holds(turns, fc.integer({ min: 0, max: 300 }), (wrong, pass) => {
    const { days, expected } = daysAfter(wrong, pass);
    expect(days).toEqual(expected);
  });
});

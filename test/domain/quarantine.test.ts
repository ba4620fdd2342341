// Implausible amounts: quarantined until the provider gives them twice the same; what is plausible, the series tells.
import { describe, expect, test } from 'vitest';
import { type Ledger, merge, openLedger } from '../../src/domain/ledger.ts';
import { addDays } from '../../src/domain/period.ts';
import { amounts, buckets, type Line, ledgerOf, row } from './ledgers.ts';

const A: Line = ['2025-06-01', 5, 1.3];
const DAY = '2025-06-02';
const absurd: Line = [DAY, 5000, 620];
const told = (kwh: number, eur: number) => buckets([DAY, kwh, eur]);
const quarantinedIn = (ledger: Ledger, ...lines: readonly Line[]) =>
  merge(ledger, buckets(...lines), 2).quarantinedNow;

test.each([
  ['energy of more than 150 kWh', [150.000001, 1], true],
  ['as much as that, and 50 units of money', [150, 50], false],
  ['money of more than that', [5, 50.000001], true],
  ['negative energy', [-0.000001, 1], true],
  ['negative money', [5, -0.1], true],
] as const)('a single day with %s', (_name, [kwh, eur], isOdd) => {
  const { ledger, quarantinedNow, changes } = merge(openLedger('2025-01-01'), told(kwh, eur), 2);
  expect(quarantinedNow).toEqual(isOdd ? [DAY] : []);
  expect([ledger.days.size, ledger.quarantined.size]).toEqual(isOdd ? [0, 1] : [1, 0]);
  expect(changes).toHaveLength(isOdd ? 0 : 1);
});

describe('the measure is the series itself', () => {
  test('twenty times its largest known day while there is less than a week, of each kind for itself', () => {
    const only: Line = ['2025-06-01', 900, 100];
    const mill = merge(ledgerOf([only]), buckets(only), 2).ledger;
    expect(merge(mill, told(18_000, 2000), 2).quarantinedNow).toEqual([]);
    expect(merge(mill, told(18_000.1, 100), 2).quarantinedNow).toEqual([DAY]);
    expect(merge(mill, told(900, 2000.1), 2).quarantinedNow).toEqual([DAY]);
  });

  const year = Array.from({ length: 365 }, (_, at): Line => {
    const kwh = 12 * (1 + 0.8 * Math.cos(((at - 20) / 365) * 2 * Math.PI));
    return [addDays('2024-06-01', at - 365), kwh, 0.124 * kwh + 0.686];
  });
  const flat = ledgerOf(year, { origin: '2023-06-02' });

  test.each<[string, number, number, boolean]>([
    ['sixty times an ordinary day', 662.58, 2.055, true],
    ['sixty times its cost', 11.043, 123.3, true],
    ['a week at once', 7 * 20, 7 * 3.1, false],
  ])('a flat does not count %s at once', (_name, kwh, eur, isOdd) => {
    expect(quarantinedIn(flat, [DAY, kwh, eur])).toEqual(isOdd ? [DAY] : []);
    const known = merge(flat, told(11.043, 2.055), 2).ledger;
    expect(quarantinedIn(known, [DAY, kwh, eur])).toEqual(isOdd ? [DAY] : []);
  });

  test('a month at once waits for one more poll, and does not let an error pass after it', () => {
    const asked = told(600, 95);
    const once = merge(flat, asked, 2);
    expect(once.quarantinedNow).toEqual([DAY]);
    const counted = merge(once.ledger, asked, 3).ledger;
    expect(counted.days.get(DAY)).toMatchObject(amounts(600, 95));
    expect(quarantinedIn(counted, ['2025-06-03', 662.58, 2])).toEqual(['2025-06-03']);
  });

  test('winter after a summer of next to nothing: a flat has no odd day, a block of flats the first three', () => {
    const winter = (summer: number, kwh: number) => {
      let ledger = ledgerOf(row('2025-04-01', 150, summer, 2));
      return row('2025-09-01', 60, kwh, 20).filter((line) => {
        const first = merge(ledger, buckets(line), 2);
        ledger = merge(first.ledger, buckets(line), 3).ledger;
        return first.quarantinedNow.length > 0;
      });
    };
    expect(winter(0.2, 60)).toEqual([]);
    expect(winter(20, 2000)).toHaveLength(3);
  });

  test.each<[string, Line[], number]>([
    ['five times its third highest', [...row('2025-01-01', 10, 10, 1), ...row('2025-02-01', 3, 100, 1)], 500],
    ['not of two high ones', [...row('2025-01-01', 10, 10, 1), ...row('2025-02-01', 2, 100, 1)], 200],
    ['less than a week with the new day', [...row('2025-01-01', 4, 10, 1), ['2025-02-01', 100, 1]], 2000],
    ['a week with the new day', [...row('2025-01-01', 5, 10, 1), ['2025-02-01', 100, 1]], 200],
  ])('most of a day: %s', (_name, lines, most) => {
    const known = ledgerOf(lines);
    expect(quarantinedIn(known, [DAY, most, 1])).toEqual([]);
    expect(quarantinedIn(known, [DAY, most + 0.001, 1])).toEqual([DAY]);
  });

  const block = row('2025-01-01', 60, 3000, 400);

  test.each<[string, Line[], string[]]>([
    ['is plausible as a whole', block, []],
    ['may have idle days', [...block, ...row('2025-03-02', 200, 0, 60)], []],
    ['of a week', row('2025-01-01', 7, 3000, 400), []],
    ['of two days is too short to judge', row('2025-01-01', 2, 3000, 400), ['2025-01-01', '2025-01-02']],
    ['does not vouch for a single spike', [...block, ['2025-04-01', 60_000.1, 400]], ['2025-04-01']],
    ['does not vouch for spikes of a flat', [...row('2025-01-01', 60, 8, 2), absurd], [DAY]],
    ['has its usual cost too', [...block, ['2025-04-01', 3000, 8_000.1]], ['2025-04-01']],
  ])('a first history that is consistent in itself %s', (_name, lines, odd) => {
    expect(quarantinedIn(openLedger('2025-01-01'), ...lines)).toEqual(odd);
    expect(quarantinedIn(openLedger('2025-01-01'), ...lines.toReversed())).toEqual(odd);
  });

  test('a window of absurd corrections does not vouch for itself', () => {
    const flat = ledgerOf(row('2025-01-01', 100, 8, 2));
    expect(quarantinedIn(flat, ...row('2025-01-11', 90, 8000, 2000))).toHaveLength(90);
  });
});

describe('given again', () => {
  test('the same: both amounts count', () => {
    const once = merge(ledgerOf([A]), buckets(absurd), 2).ledger;
    const other = merge(once, told(5001, 620), 3);
    expect(other.quarantinedNow).toEqual([DAY]);
    const again = merge(other.ledger, told(5001, 620), 4);
    expect(again.quarantinedNow).toEqual([]);
    expect(again.ledger.quarantined.size).toBe(0);
    expect(again.ledger.days.get(DAY)).toEqual({ ...amounts(5001, 620), revision: 0, receivedAt: 4 });
    expect(again.changes).toEqual([{ kind: 'new_day', day: DAY, before: null, after: amounts(5001, 620) }]);
  });

  test.each([
    ['a net credit', 1, -0.5],
    ['negative energy', -4, 1],
    ['both', -4, -1],
  ])('%s counts like any other odd value', (_name, kwh, eur) => {
    const once = merge(ledgerOf([[DAY, 4, 1]]), told(kwh, eur), 2).ledger;
    expect(once.days.get(DAY)).toMatchObject(amounts(4, 1));
    expect(merge(once, told(kwh, eur - 1), 3).quarantinedNow).toEqual([DAY]);
    const { ledger, changes } = merge(once, told(kwh, eur), 3);
    expect(ledger.days.get(DAY)).toEqual({ ...amounts(kwh, eur), revision: 1, receivedAt: 3 });
    expect(ledger.quarantined.size).toBe(0);
    expect(changes).toMatchObject([{ kind: 'corrected', before: amounts(4, 1), after: amounts(kwh, eur) }]);
  });

  test('twice in one reply is not twice', () => {
    const { ledger } = merge(ledgerOf([A]), buckets(absurd, absurd), 2);
    expect(ledger.days.has(DAY)).toBe(false);
    expect(merge(ledger, buckets(absurd), 3).ledger.days.has(DAY)).toBe(true);
  });

  const again = (kwh: number): Line => [DAY, kwh, 620];
  test.each<[string, Line[][], Line[], string[]]>([
    ['an odd day of it is no news', [[A, absurd]], [absurd], []],
    ['nor one that has changed meanwhile', [[A, absurd]], [again(5001), again(5001)], []],
    ['a correction after it is news', [[A, absurd]], [absurd, again(5002)], ['corrected']],
    ['an odd correction within it is, once it counts', [[A, [DAY, 4, 1]], [absurd]], [absurd], ['corrected']],
  ])('of the first history: %s', (_name, history, later, kinds) => {
    const take = (known: Ledger, lines: readonly Line[]) => merge(known, buckets(...lines), 1);
    const first = history.reduce((known, lines) => take(known, lines).ledger, openLedger('2025-01-01'));
    let found = { ...take(first, []), ledger: { ...first, complete: true } };
    for (const line of later) found = take(found.ledger, [line]);
    expect(found.changes.map(({ kind }) => kind)).toEqual(kinds);
    expect(found.ledger.days.has(DAY)).toBe(true);
  });
});

describe('forgotten', () => {
  test.each([
    ['a plausible word', told(6, 1.4), 2],
    ['the value known before', told(4, 1), 1],
  ])('after %s', (_name, word, receivedAt) => {
    const before = merge(ledgerOf([[DAY, 4, 1]]), buckets(absurd), 2).ledger;
    expect(before.days.get(DAY)).toMatchObject(amounts(4, 1));
    const { ledger } = merge(before, word, 2);
    expect(ledger.quarantined.size).toBe(0);
    expect(ledger.days.get(DAY)?.receivedAt).toBe(receivedAt);
  });

  test('when the provider was asked for the day and gives it no more: the count of two begins anew', () => {
    const before = merge(ledgerOf([A]), buckets(absurd), 2).ledger;
    const asked = { from: '2025-06-01', to: '2025-06-03' };
    expect(merge(before, [], 3, { from: '2025-06-03', to: '2025-07-01' }).ledger.quarantined.size).toBe(1);
    expect(merge(before, [], 3, { from: '2025-05-01', to: DAY }).ledger.quarantined.size).toBe(1);
    expect(merge(before, [], 3, { from: DAY, to: '2025-07-01' }).ledger.quarantined.size).toBe(0);
    const { ledger } = merge(before, buckets(A), 3, asked);
    expect(ledger.quarantined.size).toBe(0);
    expect(merge(ledger, buckets(absurd), 4, asked).quarantinedNow).toEqual([DAY]);
  });
});

// Unbelievable amounts: held back until the provider gives them twice, negative ones for good.
import { describe, expect, test } from 'vitest';
import { merge, openLedger } from '../../src/domain/ledger.ts';
import { amounts, buckets, type Line, ledgerOf } from './ledgers.ts';

const A: Line = ['2025-06-01', 5, 1.3];

describe('unbelievable amounts', () => {
  const absurd: Line = ['2025-06-02', 5000, 620];
  const told = (kwh: number, eur: number) => buckets(['2025-06-02', kwh, eur]);

  test.each([
    ['energy of more than a thousand units', [1000.000001, 1], true],
    ['a thousand units', [1000, 1], false],
    ['money of more than a thousand units', [5, 1000.000001], true],
    ['negative energy', [-0.000001, 1], true],
    ['negative money', [5, -0.1], true],
  ] as const)('%s', (_name, [kwh, eur], isHeld) => {
    const { ledger, heldBack, changes } = merge(openLedger('2025-01-01'), told(kwh, eur), 2);
    expect(heldBack).toEqual(isHeld ? ['2025-06-02'] : []);
    expect(ledger.days.size).toBe(isHeld ? 0 : 1);
    expect(ledger.held.size).toBe(isHeld ? 1 : 0);
    expect(changes).toHaveLength(isHeld ? 0 : 1);
  });

  test('a property that is used to a lot may use twenty times as much, of each kind for itself', () => {
    const mill = ledgerOf([['2025-06-01', 900, 100]]);
    expect(merge(mill, told(18_000, 2000), 2).heldBack).toEqual([]);
    expect(merge(mill, told(18_000.1, 100), 2).heldBack).toEqual(['2025-06-02']);
    expect(merge(mill, told(900, 2000.1), 2).heldBack).toEqual(['2025-06-02']);
  });

  test('count when they are given again, exactly the same', () => {
    const once = merge(ledgerOf([A]), buckets(absurd), 2).ledger;
    const other = merge(once, told(5001, 620), 3);
    expect(other.heldBack).toEqual(['2025-06-02']);
    const again = merge(other.ledger, told(5001, 620), 4);
    expect(again.heldBack).toEqual([]);
    expect(again.ledger.held.size).toBe(0);
    expect(again.ledger.days.get('2025-06-02')).toEqual({
      ...amounts(5001, 620),
      revision: 0,
      receivedAt: 4,
    });
    expect(again.changes).toEqual([
      { kind: 'new_day', day: '2025-06-02', before: null, after: amounts(5001, 620) },
    ]);
  });

  test('twice in one reply is not twice', () => {
    const { ledger } = merge(ledgerOf([A]), buckets(absurd, absurd), 2);
    expect(ledger.days.has('2025-06-02')).toBe(false);
    expect(merge(ledger, buckets(absurd), 3).ledger.days.has('2025-06-02')).toBe(true);
  });

  test('negative ones never do', () => {
    let ledger = ledgerOf([['2025-06-02', 4, 1]]);
    for (const at of [2, 3, 4]) ledger = merge(ledger, told(-4, 1), at).ledger;
    expect(ledger.days.get('2025-06-02')).toEqual({ ...amounts(4, 1), revision: 0, receivedAt: 1 });
    expect([...ledger.held]).toEqual([['2025-06-02', amounts(-4, 1)]]);
  });

  test.each([
    ['a believable word', told(6, 1.4), 2],
    ['the value known before', told(4, 1), 1],
  ])('are forgotten after %s', (_name, word, receivedAt) => {
    const held = merge(ledgerOf([['2025-06-02', 4, 1]]), buckets(absurd), 2).ledger;
    expect(held.days.get('2025-06-02')).toMatchObject(amounts(4, 1));
    const { ledger } = merge(held, word, 2);
    expect(ledger.held.size).toBe(0);
    expect(ledger.days.get('2025-06-02')?.receivedAt).toBe(receivedAt);
  });

  test('are forgotten when the provider was asked for their day and gives it no more', () => {
    const held = merge(ledgerOf([A]), buckets(absurd), 2).ledger;
    const asked = { from: '2025-06-01', to: '2025-06-03' };
    expect(merge(held, [], 3, { from: '2025-06-03', to: '2025-07-01' }).ledger.held.size).toBe(1);
    expect(merge(held, [], 3, { from: '2025-05-01', to: '2025-06-02' }).ledger.held.size).toBe(1);
    const { ledger } = merge(held, buckets(A), 3, asked);
    expect(ledger.held.size).toBe(0);
    // The count of two begins anew.
    expect(merge(ledger, buckets(absurd), 4, asked).heldBack).toEqual(['2025-06-02']);
  });

  test('do not stand in the way of the other days of the reply', () => {
    const { ledger, changes } = merge(openLedger('2025-01-01'), buckets(absurd, A, ['2025-06-03', 7, 2]), 2);
    expect([...ledger.days.keys()]).toEqual(['2025-06-01', '2025-06-03']);
    expect(changes).toHaveLength(2);
  });
});

// What is sealed: only with the key, only at its place, only as it was.
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PLACES, Seal } from '../../src/store/database/seal.ts';

const seal = new Seal([randomBytes(32)]);

test('what was sealed is opened again, and each time it looks different', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.string(), (value, place) => {
      const json = JSON.parse(JSON.stringify(value));
      const sealed = seal.close(place, json);
      expect(seal.open(place, sealed)).toEqual(json);
      expect(seal.close(place, json).equals(sealed)).toBe(false);
    }),
  );
});

test('another key or a changed byte open nothing', () => {
  const sealed = seal.close('account a login', { password: 'invented words' });
  expect(sealed.includes('invented')).toBe(false);
  expect(new Seal([randomBytes(32)]).open('account a login', sealed)).toBeUndefined();
  for (const at of sealed.keys()) {
    const changed = Buffer.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(seal.open('account a login', changed)).toBeUndefined();
  }
});

test('a sealed login or document opens in its own row only', () => {
  const places = [
    PLACES.login('a'),
    PLACES.login('b'),
    PLACES.document('a', 'tokens'),
    PLACES.document('b', 'tokens'),
    PLACES.document('a', 'journal'),
    PLACES.markKey,
  ];
  for (const place of places) {
    const sealed = seal.close(place, { password: 'invented words' });
    const opens = places.filter((other) => seal.open(other, sealed) !== undefined);
    expect(opens).toEqual([place]);
  }
});

test('of two keys the first one seals and both open', () => {
  const [before, next] = [randomBytes(32), randomBytes(32)];
  const sealed = new Seal([before]).close('place', 'words');
  const both = new Seal([next, before]);
  expect(both.open('place', sealed)).toBe('words');
  const renewed = both.renew('place', sealed) ?? Buffer.alloc(0);
  expect(new Seal([next]).open('place', renewed)).toBe('words');
  expect(both.renew('place', renewed)).toBe(null);
  expect(new Seal([next]).renew('place', sealed)).toBeUndefined();
});

test('a mark is the same for the same text, and another with another key', () => {
  const other = new Seal([randomBytes(32)]);
  other.markKey = 'another';
  expect(seal.mark('ledger-5001')).toBe(seal.mark('ledger-5001'));
  expect(seal.mark('ledger-5001')).not.toBe(seal.mark('ledger-5002'));
  expect(other.mark('ledger-5001')).not.toBe(seal.mark('ledger-5001'));
});

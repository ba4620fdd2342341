// Whose token it is: claims read by their configured names, and never repeated.
import { expect, test } from 'vitest';
import { readIdentity, sessionIdIn } from '../../src/auth/claims.ts';

const encoded = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url');
const jwt = (claims: unknown) => `${encoded({ alg: 'RS256' })}.${encoded(claims)}.c2lnbmVk`;
const read = (token: string, customer_code = 'customer_code', site_code = 'sites') =>
  readIdentity(token, { claims: { customer_code, site_code }, scopes: ['openid', 'service-energy'] });

test.each<[{ customer_code: unknown; sites?: unknown; sub?: string }, string, string[]]>([
  [{ customer_code: 'c-17', sites: ['/north', '/south'] }, 'c-17', ['/north', '/south']],
  [{ customer_code: 'c-17', sites: '/north' }, 'c-17', ['/north']],
  [{ customer_code: 'c-17' }, 'c-17', []],
  [{ customer_code: 4711, sites: [1, 2], sub: 'someone-else' }, '4711', ['1', '2']],
  [{ customer_code: 'Zoë ☃', sites: null }, 'Zoë ☃', []],
  [{ customer_code: 'c-17', sites: [{ toString: 1 }, { id: 1 }, null, '/north'] }, 'c-17', ['/north']],
])('%o, and under other names', (claims, customerCode, siteCodes) => {
  expect(read(jwt(claims))).toEqual({ customerCode, siteCodes });
  const renamed = { cust: claims.customer_code, place: claims.sites, customer_code: 'not this one' };
  expect(read(jwt(renamed), 'cust', 'place')).toEqual({ customerCode, siteCodes });
});

test('reads a number as it is written when it is beyond 2^53', () => {
  const payload = Buffer.from('{"customer_code":12345678901234567890,"sites":[9007199254740993]}');
  const token = `${encoded({ alg: 'RS256' })}.${payload.toString('base64url')}.c2lnbmVk`;
  expect(read(token)).toEqual({ customerCode: '12345678901234567890', siteCodes: ['9007199254740993'] });
});

const NAMED = /no claim "customer_code" with text; its claims are: .*sub/;
test.each([
  ['without the claim', jwt({ sub: 'private-subject', sites: ['/private-site'] }), NAMED],
  ['with an empty claim', jwt({ customer_code: '', sub: 'private-subject' }), NAMED],
  ['with an object', jwt({ customer_code: { id: 'private' }, sub: 'private-subject' }), NAMED],
  ['opaque', 'b3BhcXVl-token', /not a JWT/],
  ['three dots', '...', /not a JWT/],
  ['with a payload that is no JSON', 'eyJhbGciOiJSUzI1NiJ9.bm90IGpzb24.x', /not a JWT/],
  ['with a payload that is null', jwt(null), /not a JWT/],
])('a token that is %s is refused, and not quoted', (_, token, words) => {
  expect(() => read(token)).toThrow(expect.objectContaining({ code: 'claim_missing' }));
  expect(() => read(token)).toThrow(words);
  expect(() => read(token)).not.toThrow(/b3BhcXVl|bm90|not json|private/);
});

test.each([
  [jwt({ sid: 's1', session_state: 's2' }), 's1'],
  [jwt({ session_state: 's2' }), 's2'],
  [jwt({ sid: 7 }), null],
  ['b3BhcXVl', null],
  [null, null],
])('the session that a token belongs to', (token, id) => {
  expect(sessionIdIn(token)).toBe(id);
});

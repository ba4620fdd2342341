// Whose token it is: claims read by their configured names, and never repeated.
import { expect, test } from 'vitest';
import { readIdentity } from '../../src/auth/claims.ts';

const CONFIGURED = {
  claims: { customer_code: 'customer_code', site_code: 'sites' },
  scopes: ['openid', 'service-energy'],
};
const encoded = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url');
const jwt = (claims: unknown) => `${encoded({ alg: 'RS256' })}.${encoded(claims)}.c2lnbmVk`;

test.each([
  [{ customer_code: 'c-17', sites: ['/north', '/south'] }, 'c-17', ['/north', '/south']],
  [{ customer_code: 'c-17', sites: '/north' }, 'c-17', ['/north']],
  [{ customer_code: 'c-17' }, 'c-17', []],
  [{ customer_code: 4711, sites: [1, 2], sub: 'someone-else' }, '4711', ['1', '2']],
  [{ customer_code: 'Zoë ☃', sites: null }, 'Zoë ☃', []],
])('%o', (claims, customerCode, siteCodes) => {
  expect(readIdentity(jwt(claims), CONFIGURED)).toEqual({ customerCode, siteCodes });
});

test('under other names', () => {
  const claims = { customer_code: 'not this one', cust: 'c-17', place: '/north' };
  expect(
    readIdentity(jwt(claims), { ...CONFIGURED, claims: { customer_code: 'cust', site_code: 'place' } }),
  ).toEqual({
    customerCode: 'c-17',
    siteCodes: ['/north'],
  });
});

test.each([
  ['missing', { sub: 'private-subject', sites: ['/private-site'] }],
  ['empty', { customer_code: '', sub: 'private-subject' }],
  ['an object', { customer_code: { id: 'private-subject' } }],
])('a claim that is %s is named together with those that are there, without any value', (_, claims) => {
  const read = () => readIdentity(jwt(claims), CONFIGURED);
  expect(read).toThrow(expect.objectContaining({ code: 'claim_missing' }));
  expect(read).toThrow(Object.keys(claims).join(', '));
  expect(read).toThrow('"customer_code"');
  expect(read).not.toThrow(/private/);
});

test.each([
  ['opaque', 'b3BhcXVl-token'],
  ['three dots', '...'],
  ['with a payload that is no JSON', 'eyJhbGciOiJSUzI1NiJ9.bm90IGpzb24.x'],
  ['with a payload that is null', `${encoded({})}.${encoded(null)}.x`],
])('a token that is %s is refused, and not quoted', (_, token) => {
  const read = () => readIdentity(token, CONFIGURED);
  expect(read).toThrow(expect.objectContaining({ code: 'claim_missing' }));
  expect(read).toThrow('not a JWT');
  expect(read).not.toThrow(/b3BhcXVl|bm90|not json|private/);
});

// The notice of a proxy: named, used or not, and for which addresses.
import { expect, test } from 'vitest';
import { proxyNotice } from '../../src/http/proxy.ts';

const ISSUER = 'https://id.example.org/auth/realms/energy';
const PLAIN = 'http://10.0.0.7:8080/api/v1';
const PROXY = 'http://me:secret-word@proxy.example.net:3128';
const OFF = { isThere: true, isOn: false };
const ON = { isThere: true, isOn: true };
const OLD = { isThere: false, isOn: false };

test.each<[string, readonly string[], Record<string, string>]>([
  ['no proxy', [ISSUER, PLAIN], {}],
  ['an empty one', [ISSUER], { HTTPS_PROXY: '' }],
  ['one for plain HTTP alone', [ISSUER], { HTTP_PROXY: PROXY }],
  ['none for plain HTTP', [PLAIN], { HTTPS_PROXY: PROXY }],
  ['no address', [], { HTTPS_PROXY: PROXY }],
  ['everything exempt', [ISSUER], { HTTPS_PROXY: PROXY, NO_PROXY: '*' }],
  ['the host exempt', [ISSUER], { HTTPS_PROXY: PROXY, NO_PROXY: 'localhost, ID.example.org' }],
  ['the domain exempt', [ISSUER], { HTTPS_PROXY: PROXY, no_proxy: '.example.org' }],
  ['what is below the domain exempt', [ISSUER], { HTTPS_PROXY: PROXY, NO_PROXY: 'a.b,*.example.org' }],
  ['the port exempt', [PLAIN], { HTTP_PROXY: PROXY, NO_PROXY: '10.0.0.7:8080' }],
])('there is nothing to tell with %s', (_, addresses, env) => {
  expect(proxyNotice(addresses, env, OFF)).toBeNull();
});

test.each<[Record<string, string>, string]>([
  [{ HTTPS_PROXY: PROXY }, 'HTTPS_PROXY'],
  [{ HTTPS_PROXY: PROXY, https_proxy: PROXY }, 'https_proxy'],
  [{ HTTPS_PROXY: PROXY, http_proxy: PROXY, HTTP_PROXY: PROXY }, 'HTTPS_PROXY and http_proxy'],
  [{ HTTPS_PROXY: PROXY, NO_PROXY: 'example.org' }, 'HTTPS_PROXY'],
])('%j is named, and nothing of it is shown', (env, named) => {
  const notice = proxyNotice([ISSUER, PLAIN], env, OFF);
  expect(notice?.message).toBe(`${named}: set and not used, everything is reached directly`);
  expect(JSON.stringify(notice)).not.toMatch(/secret-word|proxy\.example/);
});

test('names what to do when the Node in use can, or cannot, use a proxy', () => {
  const noticeOf = (support: typeof OFF) => proxyNotice([ISSUER], { HTTPS_PROXY: PROXY }, support);
  expect(noticeOf(OFF)?.hint).toMatch(/^If there is no other way out, set NODE_USE_ENV_PROXY=1/);
  expect(noticeOf(OLD)?.hint).toContain(`Node ${process.versions.node} cannot`);
  expect(noticeOf(ON)).toEqual({ message: expect.stringContaining('HTTPS_PROXY: used by Node') });
});

// Which address of the page others are told.
import { expect, test } from 'vitest';
import { pageAddress } from '../../src/config/listenAddress.ts';
import { BASE, load } from './loading.ts';

const WITH_PASSWORD = 'web: { password: correct horse }';

test.each([
  ['192.168.1.10:8099', WITH_PASSWORD, 'http://192.168.1.10:8099/'],
  ['[fd00::7]:8099', WITH_PASSWORD, 'http://[fd00::7]:8099/'],
  ['nas.local:80', WITH_PASSWORD, 'http://nas.local:80/'],
  ['192.168.1.10:8099', '', null],
  ['192.168.1.10:8099', 'web: false', null],
  ['192.168.1.10:0', WITH_PASSWORD, null],
  ['127.0.0.1:8099', WITH_PASSWORD, null],
  ['localhost:8099', WITH_PASSWORD, null],
  ['0.0.0.0:8099', WITH_PASSWORD, null],
  ['[::]:8099', WITH_PASSWORD, null],
])('%s and %s: %s', async (listen, web, address) => {
  const { config } = await load(`${BASE}http: { listen: '${listen}' }\n${web}\n`);
  expect(pageAddress(config)).toBe(address);
});

test('no HTTP, no page', async () => {
  const { config } = await load(`${BASE}http: false\n${WITH_PASSWORD}\n`);
  expect(pageAddress(config)).toBeNull();
});

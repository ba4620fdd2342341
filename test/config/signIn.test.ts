// The ways of signing in, and what each of them needs.
import { expect, it, test } from 'vitest';
import { load, PROVIDER, refusal } from './loading.ts';

const PORTAL = 'redirect_uri: https://portal.example.org/';
const yaml = (provider: string, account = '{ username: u, password: p }') =>
  `${PROVIDER}${provider.replace(/^(?=.)/gm, '  ')}\naccounts: [${account}]\n`;

test('nothing has to be said', async () => {
  const { config } = await load(yaml(''));
  expect(config.provider).toMatchObject({ sign_in: 'auto', offline_access: false });
  expect(config.provider?.redirect_uri).toBeUndefined();
});

it.each([
  'https://portal.example.org/x?y=1',
  'http://localhost:3000',
  'com.example.app:/callback',
  'urn:x:oob',
])('%s may be registered for a client', async (address) => {
  const { config } = await load(yaml(`redirect_uri: ${address}`));
  expect(config.provider?.redirect_uri).toBe(address);
});

test('all of it from the environment', async () => {
  const { config } = await load(yaml(''), {
    HEAT2MQTT_PROVIDER_SIGN_IN: 'link',
    HEAT2MQTT_PROVIDER_REDIRECT_URI: 'com.example.app:/callback',
    HEAT2MQTT_PROVIDER_OFFLINE_ACCESS: 'true',
  });
  expect(config.provider).toMatchObject({
    sign_in: 'link',
    redirect_uri: 'com.example.app:/callback',
    offline_access: true,
  });
});

it.each(['form', 'link'])('%s needs an address, and says where to find it', async (way) => {
  const { faults } = await refusal(yaml(`sign_in: ${way}`));
  expect(faults).toEqual([
    {
      path: 'provider.redirect_uri',
      found: 'nothing',
      allowed: expect.stringMatching(
        /registered for client_id .*HEAT2MQTT_PROVIDER_REDIRECT_URI.*login page carries redirect_uri=…, to be percent-decoded$/,
      ),
    },
  ]);
  await load(yaml(`sign_in: ${way}\n${PORTAL}`));
});

it.each(['auto', 'password', 'form'])('%s needs a password for each account', async (way) => {
  const accounts = '{ id: a, username: a }, { id: b, username: b, password: p }, { id: c, username: c }';
  const { faults } = await refusal(yaml(`sign_in: ${way}\n${PORTAL}`, accounts));
  expect(faults.map(({ path, found }) => [path, found])).toEqual([
    ['accounts.0.password', 'nothing'],
    ['accounts.2.password', 'nothing'],
  ]);
  expect(faults[0]?.allowed).toMatch(/; none with provider.sign_in device or link$/);
});

it.each(['device', 'link'])('%s needs none, and keeps one that is there', async (way) => {
  const { config } = await load(yaml(`sign_in: ${way}\n${PORTAL}`, '{ id: a, username: a }'));
  expect(config.accounts).toEqual([{ id: 'a', username: 'a' }]);
  const given = await load(yaml(`sign_in: ${way}\n${PORTAL}`));
  expect(await given.config.accounts[0]?.password?.read()).toBe('p');
});

test('a mistyped way without a password is one mistake', async () => {
  const { faults } = await refusal(yaml('sign_in: devise', '{ username: u }'));
  expect(faults.map(({ path }) => path)).toEqual(['provider.sign_in']);
});

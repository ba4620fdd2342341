// Brokers of a real house: TLS with an authority of our own, bad certificates, and a rival for the client id.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from 'mqtt';
import { expect, test } from 'vitest';
import { HEALTH, STATE } from '../support/homes.ts';
import { startProbe } from '../support/probe.ts';
import { waitFor } from '../support/waitFor.ts';
import { type CertificateOptions, KEY_PASSWORD, makeCertificates } from './certificates.ts';
import { startMosquitto } from './mosquitto.ts';
import { openHome, openHomeWithBroker, outcome } from './program.ts';

const BRIDGE = 'heat2mqtt/bridge/state';

test('TLS: trusted with ca_file, refused without, accepted unverified when told so; a client certificate with a password', async () => {
  const home = await openHome();
  const { ca, lines, clientCert, clientKey } = await makeCertificates(home.folder);
  const broker = home.stack.use(await startMosquitto(lines));
  const url = `mqtts://localhost:${broker.port}`;
  const probe = home.stack.use(await startProbe(url, { ca: await readFile(ca), protocolVersion: 5 }));

  const stranger = home.start(await home.configure({ mqtt: { url } }));
  await stranger.says('no connection to the broker');
  expect(stranger.output).toMatch(
    /SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER/,
  );
  await stranger.end('SIGTERM');
  expect(probe.last(BRIDGE)).toBeUndefined();

  const friend = home.start(await home.configure({ mqtt: { url, ca_file: ca } }));
  await probe.until(STATE, () => true);
  await friend.end('SIGTERM');
  await waitFor('offline', () => probe.last(BRIDGE)?.payload === 'offline');

  const careless = home.start(await home.configure({ mqtt: { url, reject_unauthorized: false } }));
  await waitFor('online', () => probe.last(BRIDGE)?.payload === 'online');
  await careless.end('SIGTERM');

  const strict = home.stack.use(await startMosquitto([...lines, 'require_certificate true']));
  const certificate = { cert_file: clientCert, key_file: clientKey, key_password: KEY_PASSWORD };
  const own = { url: `mqtts://127.0.0.1:${strict.port}`, ca_file: ca, ...certificate };
  const known = home.start(await home.configure({ mqtt: own }));
  await known.says('connected to the broker');
  expect(known.output).not.toContain(KEY_PASSWORD);
});

test.each<[string, CertificateOptions, string, string]>([
  ['has expired', { days: -1 }, 'CERT_HAS_EXPIRED', 'has to be renewed'],
  ['is for another name', { names: 'DNS:elsewhere' }, 'ERR_TLS_CERT_ALTNAME_INVALID', 'mqtt.url'],
])(
  'a certificate that %s: said with advice, no crash, and a new one is taken',
  async (what, options, code, advice) => {
    const home = await openHome();
    const files = await makeCertificates(home.folder, options);
    const broker = home.stack.use(await startMosquitto(files.lines));
    const url = `mqtts://localhost:${broker.port}`;
    const config = await home.configure({ mqtt: { url, ca_file: files.ca } });
    const program = home.start(config);
    await program.says('no connection to the broker');
    const line = program.output.split('\n').find((one) => one.includes('no connection')) ?? '';
    const { level, message, hint } = JSON.parse(line);
    expect([level, message.split(': ')[0]]).toEqual([
      'warn',
      `The certificate of the broker ${what} (${code}).`,
    ]);
    expect(hint).toContain(advice);
    await program.says('"polled"');

    const checked = await outcome(['check', '--live', '--config', config]);
    expect(checked.code).toBe(6);
    expect(checked.output + checked.errors).toContain(`The certificate of the broker ${what}`);

    // Another authority, too: the files are read again for each attempt.
    await makeCertificates(home.folder);
    await broker.restart();
    const ca = await readFile(files.ca);
    const probe = home.stack.use(await startProbe(url, { ca, protocolVersion: 5 }));
    await program.says('connected to the broker');
    await probe.until(STATE, () => true);
    expect((await program.end('SIGTERM')).code).toBe(0);
  },
);

test('another client with our id: suspected, no duel, and everything is there once it has gone', async () => {
  const { broker, folder, stack, configure, start, listen } = await openHomeWithBroker();
  const program = start(await configure());
  await program.says('"polled"');
  await program.says('connected to the broker');
  const { clientId } = JSON.parse(await readFile(join(folder, 'state/installation.json'), 'utf8'));
  let taken = 0;
  // It comes back at once, however often it is thrown out.
  const rival = connect(broker.url, { clientId, reconnectPeriod: 5, protocolVersion: 5 });
  stack.defer(() => rival.endAsync(true));
  rival.on('connect', () => (taken += 1));
  // Mosquitto 2.0 closes the connection without a word on why.
  await program.says('another client may use the same client id');
  // How the pauses grow, test/mqtt/link.test.ts proves without waiting.
  const connections = () => program.output.split('connected to the broker').length - 1;
  await waitFor('the third connection', () => connections() >= 3);
  expect(taken).toBeLessThanOrEqual(connections() + 1);
  await rival.endAsync(true);
  const probe = await listen();
  await waitFor('online', () => probe.last(BRIDGE)?.payload === 'online');
  expect((await program.end('SIGTERM')).code).toBe(0);
});

test.each([
  ['5', 'did not take it'],
  ['3.1.1', 'still keeps 1, such as'],
])('uninstall with MQTT %s where it may not write: said, exit code 6', async (protocol, words) => {
  const home = await openHome();
  const acl = join(home.folder, 'acl');
  await writeFile(acl, 'topic read #\nuser owner\ntopic readwrite #\n');
  const broker = home.stack.use(await startMosquitto(['allow_anonymous true', `acl_file ${acl}`]));
  const owner = home.stack.use(await startProbe(broker.url, { username: 'owner' }));
  await owner.publish('heat2mqtt/bridge/info', '{}', { retain: true });
  const config = await home.configure({ mqtt: { url: broker.url, protocol } });
  expect(await outcome(['uninstall', '--config', config])).toMatchObject({ code: 2, output: '' });
  const { code, errors } = await outcome(['uninstall', '--yes', '--config', config]);
  expect([code, errors]).toEqual([6, expect.stringContaining(words)]);
  const allowed = await home.configure({ mqtt: { url: broker.url, protocol, username: 'owner' } });
  expect(await outcome(['uninstall', '--yes', '--config', allowed])).toMatchObject({ code: 0 });
  await owner.untilCleared(['heat2mqtt/bridge/info']);
});

test('a broker that refuses discovery and foreign response topics: told with advice, and the connection stays', async () => {
  const home = await openHome();
  const acl = join(home.folder, 'acl');
  await writeFile(
    acl,
    'topic readwrite heat2mqtt/#\ntopic read homeassistant/#\nuser owner\ntopic readwrite #\n',
  );
  const broker = home.stack.use(await startMosquitto(['allow_anonymous true', `acl_file ${acl}`]));
  const own = { username: 'owner', protocolVersion: 5 } as const;
  const probe = home.stack.use(await startProbe(broker.url, own));
  const config = await home.configure({ mqtt: { url: broker.url } });
  const checked = await outcome(['check', '--live', '--config', config]);
  expect([checked.code, checked.output]).toEqual([6, expect.stringContaining('right to write there')]);
  const program = home.start(config);
  const { reasons } = await probe.until(HEALTH, (health) => JSON.stringify(health).includes('_meter_'));
  expect(reasons).toContainEqual({
    code: 'publish_refused',
    message: 'The broker refuses homeassistant/device/heat2mqtt_bridge/config: not authorized.',
    hint: 'Give its user the right to write there.',
  });
  for (let asked = 1; asked <= 3; asked += 1) {
    await probe.publish('heat2mqtt/bridge/request/health', '', {
      properties: { responseTopic: 'other/reply' },
    });
    await waitFor('the answer', () => probe.on('heat2mqtt/bridge/response/health').length === asked);
  }
  expect((await program.end('SIGTERM')).code).toBe(0);
  expect(probe.on(BRIDGE).map(({ payload }) => payload)).toEqual(['online', 'offline']);
  expect(program.output.split('The broker refuses other/reply').length).toBe(2);
  expect(program.output).not.toMatch(/connection to the broker lost|stack/);
});

// Brokers that do not let everybody in: TLS with an authority of our own, client certificates, and passwords.
import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { STATE } from '../support/homes.ts';
import { startProbe } from '../support/probe.ts';
import { waitFor } from '../support/waitFor.ts';
import { KEY_PASSWORD, makeCertificates } from './certificates.ts';
import { startMosquitto } from './mosquitto.ts';
import { openHome } from './program.ts';

const LISTENER = 'allow_anonymous true';
const BRIDGE = 'heat2mqtt/bridge/state';

test('TLS: trusted with ca_file, refused without, accepted unverified when told so', async () => {
  const home = await openHome();
  const { ca, cert, key } = await makeCertificates(home.folder);
  const broker = home.stack.use(
    await startMosquitto([LISTENER, `cafile ${ca}`, `certfile ${cert}`, `keyfile ${key}`]),
  );
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

  const careless = { mqtt: { url, reject_unauthorized: false } };
  home.start(await home.configure(careless));
  await waitFor('online', () => probe.last(BRIDGE)?.payload === 'online');
});

test('a client certificate, its key under a password', async () => {
  const home = await openHome();
  const { ca, cert, key, clientCert, clientKey } = await makeCertificates(home.folder);
  const lines = [LISTENER, `cafile ${ca}`, `certfile ${cert}`, `keyfile ${key}`, 'require_certificate true'];
  const broker = home.stack.use(await startMosquitto(lines));
  const mqtt = {
    url: `mqtts://127.0.0.1:${broker.port}`,
    ca_file: ca,
    cert_file: clientCert,
    key_file: clientKey,
    key_password: KEY_PASSWORD,
  };
  const program = home.start(await home.configure({ mqtt }));
  await program.says('connected to the broker');
  expect(program.output).not.toContain(KEY_PASSWORD);
});

test('a password, from a file that is corrected while running', async () => {
  const home = await openHome();
  const users = join(home.folder, 'users');
  const password = 'pä"$\\\'#:%ss';
  await writeFile(users, '');
  execFileSync('mosquitto_passwd', ['-b', users, 'bridge', password], { stdio: 'pipe' });
  const broker = home.stack.use(await startMosquitto(['allow_anonymous false', `password_file ${users}`]));
  const passwordFile = join(home.folder, 'mqtt-password');
  await writeFile(passwordFile, 'wr0ng-pass\n');
  const mqtt = { url: broker.url, username: 'bridge', password_file: passwordFile };
  const program = home.start(await home.configure({ mqtt }));
  await program.says('The broker refused the user name or password.');
  await writeFile(passwordFile, `${password}\n`);
  await program.says('connected to the broker');
  expect(program.output).not.toContain(password);
  expect(program.output).not.toContain('wr0ng-pass');
  const probe = home.stack.use(await startProbe(broker.url, { username: 'bridge', password }));
  await probe.until(STATE, () => true);
});

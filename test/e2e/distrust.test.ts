// Brokers of a real house that are not to be trusted, or not to be had alone: bad certificates, and a rival for the id.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from 'mqtt';
import { expect, test } from 'vitest';
import { STATE } from '../support/homes.ts';
import { startProbe } from '../support/probe.ts';
import { waitFor } from '../support/waitFor.ts';
import { type CertificateOptions, makeCertificates } from './certificates.ts';
import { startMosquitto } from './mosquitto.ts';
import { openHome, openHomeWithBroker, outcome } from './program.ts';

const BAD: readonly (readonly [string, CertificateOptions, string, string, string])[] = [
  ['expired', { days: -1 }, 'has expired', 'CERT_HAS_EXPIRED', 'Renew it'],
  [
    'for another name',
    { names: 'DNS:elsewhere' },
    'is for another name',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'mqtt.url',
  ],
];

test.each(BAD)(
  'a certificate %s: said with advice, no crash, and a new one is taken',
  async (_, options, ...words) => {
    const [what, code, advice] = words;
    const home = await openHome();
    const files = await makeCertificates(home.folder, options);
    const tls = [`cafile ${files.ca}`, `certfile ${files.cert}`, `keyfile ${files.key}`];
    const broker = home.stack.use(await startMosquitto(['allow_anonymous true', ...tls]));
    const url = `mqtts://localhost:${broker.port}`;
    const config = await home.configure({ mqtt: { url, ca_file: files.ca } });
    const program = home.start(config);
    await program.says('no connection to the broker');
    const line = program.output.split('\n').find((one) => one.includes('no connection')) ?? '';
    const { level, err } = JSON.parse(line);
    expect([level, err.message.split(': ')[0]]).toEqual([
      'warn',
      `The certificate of the broker ${what} (${code}).`,
    ]);
    expect(err.hint).toContain(advice);
    await program.says('"polled"');

    const checked = await outcome(['check', '--live', '--config', config]);
    expect(checked.code).toBe(6);
    expect(checked.output + checked.errors).toContain(`The certificate of the broker ${what}`);

    // Another authority, too: the files are read anew for each attempt.
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
  const connectedAt = () =>
    program.output
      .split('\n')
      .filter((line) => line.includes('connected to the broker'))
      .map((line) => Date.parse(JSON.parse(line).time));
  await waitFor('the third connection', () => connectedAt().length >= 3);
  // After 1 and 2 seconds, a quarter more or less. That it goes on so, test/mqtt/link.test.ts proves without waiting.
  const [first = 0, second = 0, third = 0] = connectedAt();
  expect(second - first, 'wait before the second connection').toBeGreaterThan(750);
  expect(third - second, 'wait before the third connection').toBeGreaterThan(1_500);
  expect(taken).toBeLessThanOrEqual(connectedAt().length + 1);
  await rival.endAsync(true);
  const probe = await listen();
  await waitFor('online', () => probe.last('heat2mqtt/bridge/state')?.payload === 'online');
  expect((await program.end('SIGTERM')).code).toBe(0);
});

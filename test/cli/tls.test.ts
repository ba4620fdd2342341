// Encrypted connections that do not come about, to issuer, API and broker: each said in words with what to do, and no advice that has
// been followed already. And an authority of one's own.
import { createPrivateKey } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { TlsOptions } from 'node:tls';
import { beforeEach, describe, expect, test } from 'vitest';
import { startBroker } from '../../src/mqtt/broker.ts';
import { DISCOVERY_PATH, idTokenWith, TOKEN_PATH } from '../auth/account.ts';
import { openAuthority } from '../support/authority.ts';
import { home, METER, person, quiet } from '../support/homes.ts';
import { openStack, type Stack } from '../support/stack.ts';
import { startTlsEnd } from '../support/tlsEnd.ts';
import { openProviderFor, typed } from '../support/typed.ts';
import { openWire } from '../support/wire.ts';

const ME = person('me', [home(METER, quiet({ since: '2026-01-01' }))]);
const ours = openAuthority({ name: 'Ours' });
const middle = ours.below('Between');
const direct = ours.server();
const below = middle.server();
const whole = { ...below, cert: below.cert + middle.cert };
const today = () => new Date().toISOString().slice(0, 10);

let stack: Stack;
let folder: string;
let provider: Awaited<ReturnType<typeof openProviderFor>>;
beforeEach(async () => {
  stack = openStack();
  folder = await stack.folder();
  provider = await openProviderFor(ME);
});

async function file(name: string, content: string | Buffer): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

/** The lines of `check --live`, or of `check`. */
async function checked(more: Record<string, string>, ...options: string[]) {
  const { out, exitCode } = await typed(['check', ...options], { env: { ...provider.env, ...more } });
  const about = (what: string) =>
    out.split(/^(?=ok {4}|FAILED)/m).find((line) => line.includes(` ${what}`)) ?? '';
  return { out, exitCode, about };
}

/** Certificates that are not trusted: what the server shows, the file of authorities, and what is said of both. */
type Distrust = readonly [
  name: string,
  server: TlsOptions,
  authorities: string | null,
  says: string,
  advises: (key: string, address: string) => string,
];
const read = (key: string) => `The file in ${key} was read`;
const DISTRUSTED: readonly Distrust[] = [
  [
    'a chain that is not whole, of an authority that is there',
    below,
    ours.cert,
    'comes without the intermediate certificate, or is signed by an unknown authority (UNABLE_TO_VERIFY_LEAF_SIGNATURE)',
    (key) => `${read(key)}, and holds neither`,
  ],
  [
    'a lone certificate, and no file',
    below,
    null,
    'comes without the intermediate certificate, or is signed by an unknown authority (UNABLE_TO_VERIFY_LEAF_SIGNATURE)',
    (key) =>
      `name a file with its certificate (PEM) in ${key}. If it is a public one, the server has to show its whole chain`,
  ],
  [
    'an unknown authority',
    whole,
    null,
    'is signed by an unknown authority (UNABLE_TO_GET_ISSUER_CERT_LOCALLY)',
    (key) => `name that in ${key}.`,
  ],
  [
    'another authority than the one in the file',
    whole,
    openAuthority({ name: 'Other' }).cert,
    'is signed by an unknown authority (UNABLE_TO_GET_ISSUER_CERT_LOCALLY)',
    (key) => `${read(key)}, and holds other authorities`,
  ],
  [
    'the authority of before it was made anew',
    direct,
    openAuthority({ name: 'Ours' }).cert,
    'is signed by another key than that of its authority (CERT_SIGNATURE_FAILURE)',
    (key) => `The authority in the file of ${key} has been made anew`,
  ],
  [
    'the intermediate authority alone',
    below,
    middle.cert,
    'is signed by an authority whose own authority is unknown (UNABLE_TO_GET_ISSUER_CERT)',
    (key) => `The file in ${key} holds an intermediate certificate`,
  ],
  [
    'one that has expired',
    ours.server({ until: '2024-01-01' }),
    ours.cert,
    'has expired (CERT_HAS_EXPIRED)',
    () => `the clock of this machine, which says ${today()}`,
  ],
  [
    'one that is not valid yet',
    ours.server({ from: '2119-01-01' }),
    ours.cert,
    'is not valid yet (CERT_NOT_YET_VALID)',
    () => `Most likely the clock of this machine is wrong, which says ${today()}`,
  ],
  [
    'another name',
    ours.server({ hosts: ['elsewhere.example.org'] }),
    ours.cert,
    'is for another name (ERR_TLS_CERT_ALTNAME_INVALID)',
    (_, address) => `Write a name that the certificate has into ${address}`,
  ],
];

describe.each(DISTRUSTED)('%s', (_, server, authorities, says, advises) => {
  test.each([
    ['issuer', 'provider for home', 'provider.ca_file', 'provider.issuer', 5],
    ['API', 'provider for home', 'provider.ca_file', 'provider.api_url', 5],
    ['broker', 'broker', 'mqtt.ca_file', 'mqtt.url', 6],
  ] as const)('at the %s: said, with what to do', async (who, check, key, address, code) => {
    const port = await startTlsEnd(stack, server);
    const scheme = who === 'broker' ? 'mqtts' : 'https';
    const { out, exitCode, about } = await checked(
      {
        HEAT2MQTT_MQTT_EMBEDDED: String(who !== 'broker'),
        [variable(address)]: `${scheme}://localhost:${port}`,
        ...(authorities === null ? {} : { [variable(key)]: await file('ca.pem', authorities) }),
      },
      '--live',
    );
    expect(about(check)).toContain(`The certificate of the ${who} ${says}.`);
    expect(about(check)).toContain(advises(key, address));
    expect(exitCode).toBe(code);
    // What is in a certificate is text of somebody else.
    expect(out).not.toMatch(/Ours|Between|elsewhere/);
    expect(provider.simulator.counters.passwordGrants.asked).toBe(who === 'issuer' ? 0 : 1);
  });
});

const variable = (key: string) => `HEAT2MQTT_${key.replace('.', '_').toUpperCase()}`;

const OLD: TlsOptions = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' };
const MUTUAL: TlsOptions = { requestCert: true, rejectUnauthorized: true, ca: ours.cert };

describe('no trouble of trust', () => {
  /** What answers at the port. */
  const ENDS: readonly (readonly [
    name: string,
    end: () => Promise<number>,
    says: RegExp,
    advises: (address: string) => string,
  ])[] = [
    [
      'a protocol that is too old',
      () => startTlsEnd(stack, { ...direct, ...OLD }),
      /speaks only versions of TLS that are too old to be safe \(TLS error 0A00042E\)/,
      () => 'TLS 1.2 or newer has to be switched on there',
    ],
    [
      'no TLS at all',
      async () => {
        const answer = (socket: { end(text: string): unknown }) =>
          socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
        const wire = stack.use(await openWire(0, answer));
        return wire.port;
      },
      /speaks no TLS on this port \(TLS error 0A00010B\)/,
      (address) => `Check the port in ${address}, and its scheme`,
    ],
    [
      'one that hangs up',
      async () => stack.use(await openWire()).port,
      /ended the connection before it was encrypted \(ECONNRESET\)/,
      (address) => `check the port in ${address}: most likely it is one without TLS`,
    ],
    [
      'one that resets the connection, as Mosquitto does on a plain port',
      async () => {
        const reset = (socket: Socket) => socket.resetAndDestroy();
        return stack.use(await openWire(0, reset)).port;
      },
      /ended the connection before it was encrypted \(ECONNRESET\)/,
      (address) => `check the port in ${address}`,
    ],
    [
      'one that wants a certificate of ours',
      () => startTlsEnd(stack, { ...direct, ...MUTUAL, maxVersion: 'TLSv1.2' }),
      /and this program find no encryption that both know \(TLS error 0A000410\)/,
      () => 'it wants a certificate of ours',
    ],
  ];
  test.each(ENDS)('%s: said of issuer, API and broker', async (_, end, says, advises) => {
    const port = await end();
    const authority = await file('ca.pem', ours.cert);
    const files = { HEAT2MQTT_PROVIDER_CA_FILE: authority, HEAT2MQTT_MQTT_CA_FILE: authority };
    for (const [who, key] of [
      ['issuer', 'provider.issuer'],
      ['API', 'provider.api_url'],
    ] as const) {
      const url = `https://localhost:${port}`;
      const more = { ...files, [variable(key)]: url, HEAT2MQTT_MQTT_URL: `mqtts://localhost:${port}` };
      const { about } = await checked(more, '--live');
      expect(about('provider for home')).toMatch(new RegExp(`The ${who} ${says.source}`));
      expect(about('provider for home')).toContain(advises(key));
      expect(about('broker')).toMatch(new RegExp(`The broker ${says.source}`));
      expect(about('broker')).toContain(advises('mqtt.url'));
    }
  });
});

describe('a file of authorities', () => {
  const BAD: readonly (readonly [content: string | Buffer, found: string])[] = [
    ['', 'an empty file'],
    [' \n\n', 'an empty file'],
    [
      Buffer.from(ours.cert.replace(/-----[^-]+-----/g, ''), 'base64'),
      'a certificate in DER form, of which `openssl x509 -inform der',
    ],
    ['nonsense', 'no certificate in PEM form'],
    [Buffer.from(`\ufeff${ours.cert}`, 'utf16le'), 'no certificate in PEM form'],
    [`\ufeff${ours.cert}`, 'a byte order mark at its beginning'],
    [direct.key, 'a private key, and no certificate'],
    [ours.cert.slice(0, 200), '1 damaged certificate(s) of 1'],
    [`${ours.cert}${ours.cert.replace('M', 'A')}`, '1 damaged certificate(s) of 2'],
  ];
  test.each(['provider.ca_file', 'mqtt.ca_file'])(
    '%s without a certificate is refused by check',
    async (key) => {
      for (const [content, found] of BAD) {
        const path = await file('ca.pem', content);
        const { exitCode, about } = await checked({ [variable(key)]: path });
        expect(about('configuration')).toMatch(/^FAILED/);
        expect(about('configuration')).toContain(`${key}: found ${found}`);
        expect(about('configuration')).toContain(
          'allowed: the path of a readable file with certificates in PEM form',
        );
        expect(exitCode).toBe(3);
      }
    },
  );

  test('text around its certificates, and the line ends of Windows, do no harm', async () => {
    const text = `Authorities - of ours:\n${ours.cert}\n# and\n${middle.cert}`.replaceAll('\n', '\r\n');
    const { about } = await checked({ HEAT2MQTT_PROVIDER_CA_FILE: await file('ca.pem', text) });
    expect(about('configuration')).toMatch(/^ok/);
  });

  test('is counted by check, which says when one of them has expired', async () => {
    const lapsed = openAuthority({ until: '2024-01-01' }).cert;
    const [both, one] = [await file('both.pem', ours.cert + lapsed), await file('one.pem', ours.cert)];
    const { about } = await checked({ HEAT2MQTT_PROVIDER_CA_FILE: both, HEAT2MQTT_MQTT_CA_FILE: one });
    expect(about('provider.ca_file')).toMatch(
      /^ok {5}provider\.ca_file: 2 certificate\(s\).*\n +Expired: 1 of them/,
    );
    expect(about('mqtt.ca_file')).toBe(`ok     mqtt.ca_file: 1 certificate(s), file ${one}\n`);
  });

  test('is not looked at where nothing is verified: a household that lives with it goes on', async () => {
    const broker = stack.use(await startBroker());
    const port = await startTlsEnd(stack, direct, broker.port);
    const { out, about } = await checked(
      {
        HEAT2MQTT_MQTT_URL: `mqtts://localhost:${port}`,
        HEAT2MQTT_MQTT_CA_FILE: await file('ca.pem', 'nonsense'),
        HEAT2MQTT_MQTT_REJECT_UNAUTHORIZED: 'false',
      },
      '--live',
    );
    expect(about('configuration')).toContain(
      'mqtt.ca_file holds no certificate in PEM form: it is not used.',
    );
    expect(out).toContain('ok     broker: connected');
  });
});

describe('a certificate of our own at the broker', () => {
  const own = ours.server();
  const locked = createPrivateKey(own.key).export({
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: 'right',
  });
  test.each<[cert: string, key: string | Buffer, password: string, said: string]>([
    ['nonsense', own.key, '', 'found no certificate in PEM form in mqtt.cert_file'],
    [own.cert, 'nonsense', '', 'mqtt.key_file holds no private key in PEM form'],
    [own.cert, direct.key, '', 'the key in mqtt.key_file is not that of the first certificate'],
    [own.cert, locked, '', 'is encrypted, and mqtt.key_password is missing'],
    [own.cert, locked, 'wrong', 'is encrypted, and mqtt.key_password does not open it'],
  ])('%#: what is wrong with it is said', async (cert, key, password, said) => {
    const { about, exitCode } = await checked(
      {
        HEAT2MQTT_MQTT_URL: 'mqtts://127.0.0.1:9',
        HEAT2MQTT_MQTT_CERT_FILE: await file('cert.pem', cert),
        HEAT2MQTT_MQTT_KEY_FILE: await file('key.pem', key),
        HEAT2MQTT_MQTT_KEY_PASSWORD: password,
      },
      '--live',
    );
    expect(about('broker')).toContain('The certificate of our own cannot be used: ');
    expect(about('broker')).toContain(said);
    expect(exitCode).toBe(3);
  });
});

test("an authority of one's own: issuer, API and broker are reached by it", async () => {
  const { simulator } = provider;
  const plain = new URL(simulator.urls.issuer);
  const port = await startTlsEnd(stack, whole, Number(plain.port));
  const secure = `https://localhost:${port}`;
  const moved = (body: unknown) => JSON.parse(JSON.stringify(body).replaceAll(plain.origin, secure));
  simulator.switches.fault(DISCOVERY_PATH, { kind: 'change', change: moved });
  simulator.switches.fault(
    TOKEN_PATH,
    idTokenWith({ iss: simulator.urls.issuer.replace(plain.origin, secure) }),
  );
  const broker = stack.use(await startBroker());
  const authority = await file('ca.pem', ours.cert);
  const { out, exitCode } = await checked(
    {
      HEAT2MQTT_PROVIDER_ISSUER: simulator.urls.issuer.replace(plain.origin, secure),
      HEAT2MQTT_PROVIDER_API_URL: simulator.urls.api.replace(plain.origin, secure),
      HEAT2MQTT_PROVIDER_CA_FILE: authority,
      HEAT2MQTT_MQTT_URL: `mqtts://localhost:${await startTlsEnd(stack, whole, broker.port)}`,
      HEAT2MQTT_MQTT_CA_FILE: authority,
    },
    '--live',
  );
  expect(out).not.toContain('FAILED');
  expect(out).toContain('signed in, 1 heat meter(s)');
  expect(exitCode).toBe(0);
});

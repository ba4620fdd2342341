// What errors of TLS are told as, beside those that test/cli/tls.test.ts meets on the wire.
import { expect, test } from 'vitest';
import { EXIT } from '../../src/foundation/failure.ts';
import { beforeTls, type TlsPlace, tlsTrouble } from '../../src/foundation/tlsTrouble.ts';

const NOW = Date.UTC(2026, 10, 27, 23);
const PUBLIC: TlsPlace = {
  who: 'the service',
  code: 'provider',
  exit: EXIT.provider,
  retry: 'later',
  address: 'constituencies.base_url',
  authorities: null,
  ownCertificate: null,
};
const failed = (code: string, message = code) => Object.assign(new Error(message), { code });
const told = (err: unknown, place = PUBLIC) => tlsTrouble(err, place, NOW);
/** As OpenSSL writes it: the names between the colons are those of one version. */
const openssl = (number: string, names = 'ssl3_read_bytes:sslv3 alert something') =>
  failed('EPROTO', `write EPROTO 809CA9CDBB7F0000:error:${number}:SSL routines:${names}:../deps/x.c:1600:\n`);

test('names the environment of Node when no key names authorities', () => {
  for (const code of ['SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'])
    expect(told(failed(code))).toMatchObject({
      code: 'provider_not_trusted',
      hint: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
    });
});

test('advises what to do elsewhere when no file of authorities is given', () => {
  expect(told(failed('UNABLE_TO_GET_ISSUER_CERT'))?.hint).toContain('that this machine trusts');
  expect(told(failed('CERT_SIGNATURE_FAILURE'))?.hint).toContain('issued anew');
});

test.each([
  ['CERT_REVOKED', 'The certificate of the service has been revoked (CERT_REVOKED).'],
  ['INVALID_CA', 'is signed by a certificate that is not one of an authority'],
  ['INVALID_PURPOSE', 'is not one for a server'],
  ['UNSPECIFIED', 'cannot be verified (UNSPECIFIED)'],
])('%s: %s', (code, words) => {
  expect(told(failed(code))).toMatchObject({
    code: 'provider_not_trusted',
    message: expect.stringContaining(words),
  });
});

test.each([
  ['0A000102', 'The service speaks only versions of TLS that are too old to be safe (TLS error 0A000102).'],
  ['0A00009C', 'The service speaks no TLS on this port (TLS error 0A00009C).'],
  ['0A000126', 'The service ended the connection before it was encrypted (TLS error 0A000126).'],
  ['0A000412', 'The service wants a certificate of ours, or does not accept it (TLS error 0A000412).'],
  ['0A00045C', 'The service wants a certificate of ours, or does not accept it (TLS error 0A00045C).'],
  ['0A000458', 'The service knows no server of this name (TLS error 0A000458).'],
  ['0A00018A', 'The service uses a key that is too short to be safe (TLS error 0A00018A).'],
  [
    '0A000438',
    'The service and this program could not agree on an encrypted connection (TLS error 0A000438).',
  ],
])('the number decides, and not the names beside it: %s', (number, message) => {
  for (const names of ['ssl3_read_bytes:sslv3 alert x', 'tls_validate_record_header:ssl/tls alert x'])
    expect(told(openssl(number, names))).toMatchObject({ code: 'provider_unreachable', message });
});

test('says nothing when the error is about something else than TLS', () => {
  for (const err of [
    failed('ECONNREFUSED'),
    failed('ECONNRESET'),
    failed('ENOTFOUND'),
    new Error('x'),
    'x',
    null,
  ])
    expect(told(err)).toBeNull();
  const refused = failed('ECONNREFUSED');
  expect(beforeTls(refused)).toBe(refused);
  expect(told(beforeTls(failed('ECONNRESET')))).toMatchObject({ code: 'provider_unreachable' });
});

test('advises to look into the file of authorities when one is given', () => {
  const authorities = { key: 'mqtt.ca_file', isGiven: true, alone: true };
  const given = { ...PUBLIC, authorities, ownCertificate: 'mqtt.cert_file and mqtt.key_file' };
  const codes = [
    'SELF_SIGNED_CERT_IN_CHAIN',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  ];
  for (const code of codes) {
    const { hint = '' } = told(failed(code), given) ?? {};
    expect(hint).toMatch(/^The file in mqtt\.ca_file was read, and holds other authorities/);
    expect(hint).toContain('or remove mqtt.ca_file if it is a public authority');
  }
  expect(told(openssl('0A000410'), given)?.hint).toContain('(mqtt.cert_file and mqtt.key_file)');
});

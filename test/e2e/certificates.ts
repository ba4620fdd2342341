// Certificates of an authority of our own, made by openssl.
import { execFileSync } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export const KEY_PASSWORD = 'key p ä"$';

export interface CertificateOptions {
  /** How long the broker's is valid; below zero: it has expired. */
  readonly days?: number;
  /** Whom the broker's is for. */
  readonly names?: string;
}

export async function makeCertificates(
  folder: string,
  { days = 2, names = 'DNS:localhost,IP:127.0.0.1' }: CertificateOptions = {},
) {
  const at = (name: string) => join(folder, name);
  // None of the words has a space in it.
  const openssl = (words: string) => execFileSync('openssl', words.split(' '), { stdio: 'pipe' });
  const newKey = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1';
  openssl(`req -x509 ${newKey} -nodes -keyout ${at('ca.key')} -out ${at('ca.pem')} -days 2 -subj /CN=ours`);
  await writeFile(at('names'), `subjectAltName=${names}\n`);
  const sign = (name: string, protection: string) => {
    openssl(
      `req ${newKey} ${protection} -keyout ${at(`${name}.key`)} -out ${at(`${name}.csr`)} -subj /CN=${name}`,
    );
    const ca = `-CA ${at('ca.pem')} -CAkey ${at('ca.key')} -CAcreateserial`;
    openssl(
      `x509 -req -in ${at(`${name}.csr`)} ${ca} -out ${at(`${name}.pem`)} -days ${days} -extfile ${at('names')}`,
    );
  };
  await writeFile(at('key-password'), KEY_PASSWORD);
  sign('broker', '-nodes');
  sign('bridge', `-passout file:${at('key-password')}`);
  await chmod(at('broker.key'), 0o644);
  return {
    ca: at('ca.pem'),
    clientCert: at('bridge.pem'),
    /** Encrypted with KEY_PASSWORD. */
    clientKey: at('bridge.key'),
    /** The listener of a broker that has them. */
    lines: [
      'allow_anonymous true',
      `cafile ${at('ca.pem')}`,
      `certfile ${at('broker.pem')}`,
      `keyfile ${at('broker.key')}`,
    ],
  };
}

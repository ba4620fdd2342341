// The files of the configuration for an encrypted connection to the broker: authorities, and a certificate of our own.
import { createPrivateKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { Mqtt } from '../config/schema.ts';
import { certificatesIn, readAuthorities } from '../foundation/authorities.ts';
import { EXIT, type Failure, failure } from '../foundation/failure.ts';
import type { BrokerTls } from './stream.ts';

/** Read each time: a renewed file needs no restart. Rejects with ca_file_unusable, own_certificate_unusable or secret_unreadable. */
export async function brokerTls(mqtt: Mqtt): Promise<BrokerTls> {
  const ca = await authoritiesOf(mqtt);
  return { ca, ...(await ownCertificate(mqtt)), rejectUnauthorized: mqtt.reject_unauthorized };
}

/** The file is taken whatever is in it if nothing is verified. */
async function authoritiesOf({ ca_file, reject_unauthorized }: Mqtt): Promise<Buffer | undefined> {
  if (ca_file === undefined) return undefined;
  if (!reject_unauthorized) return readFile(ca_file);
  return (await readAuthorities('mqtt.ca_file', ca_file)).content;
}

interface OwnCertificate {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly passphrase: string | undefined;
}

async function ownCertificate({ cert_file, key_file, key_password }: Mqtt): Promise<Partial<OwnCertificate>> {
  if (cert_file === undefined || key_file === undefined) return {};
  const certificate: OwnCertificate = {
    passphrase: await key_password?.read(),
    cert: await contentOf('mqtt.cert_file', cert_file),
    key: await contentOf('mqtt.key_file', key_file),
  };
  try {
    createSecureContext(certificate);
  } catch {
    throw faultIn(certificate);
  }
  return certificate;
}

/** TLS itself says no more than that something is wrong with one of the two files. */
function faultIn({ cert, key, passphrase }: OwnCertificate): Failure {
  const looked = certificatesIn(cert);
  if ('found' in looked)
    return unusable(
      `found ${looked.found} in mqtt.cert_file`,
      'Let it name a file with a certificate in PEM form.',
    );
  if (isPrivateKey(key, passphrase))
    return unusable(
      'the key in mqtt.key_file is not that of the first certificate in mqtt.cert_file',
      'Name two files that were made together; in a chain our own certificate comes first.',
    );
  if (!key.includes('ENCRYPTED'))
    return unusable(
      'mqtt.key_file holds no private key in PEM form',
      'Let it name the key that belongs to mqtt.cert_file.',
    );
  const fault = passphrase === undefined ? 'is missing' : 'does not open it';
  return unusable(
    `the key in mqtt.key_file is encrypted, and mqtt.key_password ${fault}`,
    'Give the password that it was made with.',
  );
}

const contentOf = (name: string, file: string): Promise<Buffer> =>
  readFile(file).catch((err: NodeJS.ErrnoException) => {
    throw unusable(
      `the file in ${name} cannot be read (${err.code})`,
      'Let it be readable for the user heat2mqtt runs as.',
    );
  });

function isPrivateKey(key: Buffer, passphrase: string | undefined): boolean {
  try {
    return createPrivateKey({ key, passphrase }).type === 'private';
  } catch {
    return false;
  }
}

const unusable = (why: string, hint: string) =>
  failure('own_certificate_unusable', `The certificate of our own cannot be used: ${why}.`, {
    exit: EXIT.config,
    retry: 'later',
    hint: `${hint} No restart is needed.`,
  });

// A file with certificates of authorities: what is in it, and what is wrong with it.
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { EXIT, failure } from './failure.ts';

/** Describes such a file; completes "allowed: …". */
export const AUTHORITIES =
  'the path of a readable file with certificates in PEM form, each from a line -----BEGIN CERTIFICATE----- to a line -----END CERTIFICATE-----';

/** OpenSSL passes over whatever stands before the first such line, and a line with a byte order mark too. */
const BLOCK =
  /^-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----\s[^-]*^-----END (?:X509 |TRUSTED )?CERTIFICATE-----/gm;
const BEGINNINGS = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/g;
const FIRST_BYTE_OF_DER = 0x30;
const BYTE_ORDER_MARK = '\xef\xbb\xbf';

/** `found` says what there is instead, in words without its text. Node itself takes a text without a certificate for no authority, and says nothing. */
export function certificatesIn(
  content: Buffer,
): { readonly certificates: readonly X509Certificate[] } | { readonly found: string } {
  const text = content.toString('latin1');
  if (text.trim() === '') return { found: 'an empty file' };
  const blocks = text.match(BLOCK) ?? [];
  const begun = text.match(BEGINNINGS)?.length ?? 0;
  const certificates = blocks.flatMap((block) => parsed(block) ?? []);
  if (certificates.length > 0 && certificates.length === begun) return { certificates };
  if (begun > 0 && text.startsWith(BYTE_ORDER_MARK))
    return { found: 'a byte order mark at its beginning, which hides the first certificate' };
  if (begun > 0) return { found: `${begun - certificates.length} damaged certificate(s) of ${begun}` };
  return { found: insteadIn(content, text) };
}

function insteadIn(content: Buffer, text: string): string {
  if (content[0] === FIRST_BYTE_OF_DER && parsed(content) !== null)
    return 'a certificate in DER form, of which `openssl x509 -inform der -in FILE -out ca.pem` makes one in PEM form';
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) return 'a private key, and no certificate';
  return 'no certificate in PEM form';
}

function parsed(certificate: string | Buffer): X509Certificate | null {
  try {
    return new X509Certificate(certificate);
  } catch {
    return null;
  }
}

/**
 * The content of the file that the key of the configuration names, for a connection that is to begin. Rejects with
 * ca_file_unusable: it was good when the configuration was read, and may be another one by now.
 */
export async function readAuthorities(
  key: string,
  path: string,
): Promise<{ readonly content: Buffer; readonly certificates: readonly X509Certificate[] }> {
  const unusable = (why: string) =>
    failure('ca_file_unusable', `The certificates in ${key} cannot be used: ${why}.`, {
      exit: EXIT.config,
      retry: 'later',
      hint: `Let it name ${AUTHORITIES}; no restart is needed.`,
    });
  const content = await readFile(path).catch((err: NodeJS.ErrnoException) => {
    throw unusable(`the file cannot be read (${err.code})`);
  });
  const looked = certificatesIn(content);
  if ('found' in looked) throw unusable(`found ${looked.found}`);
  return { content, certificates: looked.certificates };
}

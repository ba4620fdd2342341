// Seals what may not be read in a dump of the database: AES-256-GCM, bound to the place where it is kept.
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const MARK_BYTES = 16;

export class Seal {
  /** 32 bytes each. The first one seals, all of them open. */
  keys: readonly Buffer[];
  /** Drawn once for a database, in which it is kept sealed. */
  markKey = '';

  constructor(keys: readonly Buffer[]) {
    this.keys = keys;
  }

  /** The same for the same text, and tells nothing about it without the key. */
  mark(text: string): string {
    return createHmac('sha256', this.markKey).update(text).digest().toString('hex', 0, MARK_BYTES);
  }

  /** `place`, such as a column and an account: what was sealed for one cannot be opened at another. */
  close(place: string, json: unknown): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.keys[0] ?? Buffer.alloc(0), nonce).setAAD(Buffer.from(place));
    const text = Buffer.concat([cipher.update(JSON.stringify(json), 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), text]);
  }

  /** `undefined`: it was sealed with another key, for another place, or has been changed. */
  open(place: string, sealed: Buffer): unknown {
    return this.#look(place, sealed)?.json;
  }

  /** Sealed by the first key; `null` where it is already, `undefined` where it cannot be opened. */
  renew(place: string, sealed: Buffer): Buffer | null | undefined {
    const opened = this.#look(place, sealed);
    return opened && (opened.key === this.keys[0] ? null : this.close(place, opened.json));
  }

  #look(place: string, sealed: Buffer): { readonly key: Buffer; readonly json: unknown } | undefined {
    for (const key of this.keys)
      try {
        const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES))
          .setAAD(Buffer.from(place))
          .setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
        const text = decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES));
        return { key, json: JSON.parse(Buffer.concat([text, decipher.final()]).toString('utf8')) };
      } catch {
        // Perhaps by the next one.
      }
    return undefined;
  }
}

/** The place of a sealed value. */
export const PLACES = {
  login: (account: string) => `account ${account} login`,
  document: (account: string, name: string) => `document ${account} ${name}`,
  markKey: 'fleet mark_key',
} as const;

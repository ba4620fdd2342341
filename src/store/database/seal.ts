// Sealing what nobody may read in a dump of the database: AES-256-GCM, bound to the place where it is kept.
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const MARK_BYTES = 16;

export class Seal {
  readonly #key: Buffer;

  /** `key`: 32 bytes. */
  constructor(key: Buffer) {
    this.#key = key;
  }

  /** `place`, such as an account and a column: what was sealed for one cannot be opened at another. */
  close(place: string, json: unknown): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, nonce).setAAD(Buffer.from(place));
    const text = Buffer.concat([cipher.update(JSON.stringify(json), 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), text]);
  }

  /** Throws when it was sealed with another key, for another place, or has been changed. */
  open(place: string, sealed: Buffer): unknown {
    const tagged = sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
    const decipher = createDecipheriv(CIPHER, this.#key, sealed.subarray(0, NONCE_BYTES))
      .setAAD(Buffer.from(place))
      .setAuthTag(tagged);
    const text = decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES));
    return JSON.parse(Buffer.concat([text, decipher.final()]).toString('utf8'));
  }

  /** The same for the same text, and tells nothing about it without the key. */
  mark(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest().toString('hex', 0, MARK_BYTES);
  }
}

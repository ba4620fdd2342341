// What a person's phone would show as the second factor: RFC 6238 by hand, in place of the library that the program uses.
import { createHmac } from 'node:crypto';

export const TOTP_SECRET = 'MZXW6YTBOI4DSNBQGEZDGNBV';
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

export function codeAt(now: number): string {
  const bits = [...TOTP_SECRET]
    .map((letter) => LETTERS.indexOf(letter).toString(2).padStart(5, '0'))
    .join('');
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(now / 30_000)));
  const hash = createHmac('sha1', key).update(counter).digest();
  const offset = (hash.at(-1) ?? 0) & 15;
  return String((hash.readUInt32BE(offset) & 0x7fff_ffff) % 1_000_000).padStart(6, '0');
}

// Spreads the work of many evenly, the same in each process.
import { createHash } from 'node:crypto';

/** From 0 up to 1, always the same for a text. */
export const shareOf = (text: string): number =>
  createHash('sha1').update(text).digest().readUInt32BE(0) / 2 ** 32;

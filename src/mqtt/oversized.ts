// Keeps packets of a broker small: of one that is too large its beginning goes on, as if that were all.
import { Transform } from 'node:stream';

/** Header and all. Also announced to a broker that speaks MQTT 5: larger messages it keeps to itself. */
export const LARGEST_PACKET_BYTES = 1024 * 1024;

const CONTINUES = 0x80;
const LONGEST_LENGTH = 4;

/**
 * A PUBLISH that is cut short keeps its topic and its id, so it can be acknowledged and refused; nothing waits in
 * memory for the rest. What is not MQTT passes unchanged: it is the parser's to refuse.
 */
export function cutOversized(largest = LARGEST_PACKET_BYTES): Transform {
  /** Type and length of the next packet, as far as they have come. */
  let head: number[] = [];
  let passing = 0;
  let dropping = 0;

  function lengthOf([, ...digits]: readonly number[]): number {
    return digits.reduce((sum, digit, at) => sum + (digit & 0x7f) * 0x80 ** at, 0);
  }

  const longest = largest - 1 - LONGEST_LENGTH;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      for (let at = 0; at < chunk.length; ) {
        if (passing + dropping > 0) {
          const stretch = chunk.subarray(at, at + (passing || dropping));
          if (passing > 0) this.push(stretch);
          if (passing > 0) passing -= stretch.length;
          else dropping -= stretch.length;
          at += stretch.length;
          continue;
        }
        const byte = chunk[at] ?? 0;
        head.push(byte);
        at += 1;
        const isWhole = head.length > 1 && (byte < CONTINUES || head.length > LONGEST_LENGTH);
        if (!isWhole) continue;
        const length = lengthOf(head);
        passing = Math.min(length, longest);
        dropping = length - passing;
        this.push(Buffer.from(dropping > 0 ? [head[0] ?? 0, ...written(passing)] : head));
        head = [];
      }
      done();
    },
  });
}

/** A length as MQTT writes it: seven bits at a time, the lowest first. */
function written(length: number): number[] {
  const digits: number[] = [];
  for (let left = length; left > 0 || digits.length === 0; left = Math.floor(left / 0x80)) {
    digits.push((left % 0x80) + (left >= 0x80 ? CONTINUES : 0));
  }
  return digits;
}

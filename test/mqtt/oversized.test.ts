// Packets of any size from a broker: small ones pass as they are, of large ones the beginning, whatever the pieces.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cutOversized } from '../../src/mqtt/oversized.ts';

const LARGEST = 300;
const LONGEST_BODY = LARGEST - 5;

interface Packet {
  readonly type: number;
  readonly body: Buffer;
}

function written({ type, body }: Packet): Buffer {
  const head = [type];
  for (let left = body.length; head.length < 2 || left > 0; left >>= 7) {
    head.push((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
  }
  return Buffer.concat([Buffer.from(head), body]);
}

function* read(bytes: Buffer): Generator<Packet> {
  for (let at = 0; at < bytes.length; ) {
    const type = bytes.readUInt8(at);
    let length = 0;
    for (let digit = 0x80, shift = 0; digit >= 0x80; shift += 7) {
      at += 1;
      digit = bytes.readUInt8(at);
      length |= (digit & 0x7f) << shift;
    }
    at += 1;
    yield { type, body: bytes.subarray(at, at + length) };
    at += length;
  }
}

function through(bytes: Buffer, piece: number): Packet[] {
  const cut = cutOversized(LARGEST);
  const parts: Buffer[] = [];
  cut.on('data', (part: Buffer) => parts.push(part));
  for (let at = 0; at < bytes.length; at += piece) cut.write(bytes.subarray(at, at + piece));
  return [...read(Buffer.concat(parts))];
}

test('whatever comes in whatever pieces: every packet in its turn, of large ones the beginning', () => {
  const lengths = fc.array(fc.oneof(fc.constant(0), fc.nat({ max: 400 }), fc.nat({ max: 40_000 })), {
    maxLength: 12,
  });
  fc.assert(
    fc.property(lengths, fc.integer({ min: 1, max: 5_000 }), (all, piece) => {
      const sent = all.map((length, at) => ({
        type: 0x30 + (at % 16),
        body: Buffer.from(Array.from({ length }, (_, n) => n % 251)),
      }));
      const expected = sent.map(({ type, body }) => ({ type, body: body.subarray(0, LONGEST_BODY) }));
      expect(through(Buffer.concat(sent.map(written)), piece)).toEqual(expected);
    }),
  );
});

test('a packet as large as MQTT knows leaves nothing in memory', () => {
  const cut = cutOversized(LARGEST);
  let bytes = 0;
  cut.on('data', (part: Buffer) => {
    bytes += part.length;
  });
  cut.write(Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f]));
  const piece = Buffer.alloc(1024 * 1024);
  for (let left = 255; left > 0; left -= 1) cut.write(piece);
  expect(bytes).toBeLessThanOrEqual(LARGEST);
  expect(cut.readableLength + cut.writableLength).toBe(0);
});

// Packets of any size from a broker: small ones pass as they are, of large ones the beginning, whatever the pieces.

import { createServer } from 'node:http';
import { createConnection } from 'node:net';
import { pipeline } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createWebSocketStream } from 'ws';
import { startBroker } from '../../src/mqtt/broker.ts';
import type { Incoming } from '../../src/mqtt/message.ts';
import { packetCutter } from '../../src/mqtt/stream.ts';
import { listening, webSockets } from '../support/listening.ts';
import { holds } from '../support/property.ts';
import { openStack, type Stack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';
import { connect } from './linked.ts';

const LARGEST = 300;
const LONGEST_BODY = LARGEST - 5;
const PATTERN = Buffer.from(Array.from({ length: 2_000 }, (_, n) => n % 251));

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
  const cut = packetCutter(LARGEST);
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += piece) parts.push(...cut(bytes.subarray(at, at + piece)));
  return [...read(Buffer.concat(parts))];
}

test('whatever comes in whatever pieces: every packet in its turn, of large ones the beginning', () => {
  const length = fc.oneof(fc.constant(0), fc.nat({ max: 400 }), fc.nat({ max: 2_000 }));
  const lengths = fc.array(length, { maxLength: 8 });
  holds(lengths, fc.integer({ min: 1, max: 900 }), (all, piece) => {
    const sent = all.map((length, at) => ({
      type: 0x30 + (at % 16),
      body: PATTERN.subarray(0, length),
    }));
    const expected = sent.map(({ type, body }) => ({ type, body: body.subarray(0, LONGEST_BODY) }));
    expect(through(Buffer.concat(sent.map(written)), piece)).toEqual(expected);
  });
});

/** As long as a URL of the scheme is open, a broker answers there. */
async function brokerAt(scheme: string, stack: Stack): Promise<string> {
  const broker = stack.use(await startBroker());
  if (scheme === 'mqtt') return broker.url;
  const port = await webSockets(stack, { handleProtocols: () => 'mqtt' }, (socket) => {
    const stream = createWebSocketStream(socket);
    const behind = createConnection(broker.port, '127.0.0.1');
    pipeline(stream, behind, stream, () => undefined);
  });
  return `ws://127.0.0.1:${port}/mqtt`;
}

test.each(['mqtt', 'ws'])(
  'over %s: of a message above 1 MiB the beginning arrives, and life goes on',
  async (scheme) => {
    const stack = openStack();
    const url = await brokerAt(scheme, stack);
    const heard: Incoming[] = [];
    const connection = await connect(url, { onMessage: (one) => void heard.push(one) });
    stack.defer(() => connection.close(500));
    await connection.subscribe([{ filter: 'x/+' }]);
    await connection.publish({ topic: 'x/large', payload: 'x'.repeat(3 * 1024 * 1024), retain: true });
    await connection.publish({ topic: 'x/small', payload: 'ü', retain: false });
    await waitFor('both', () => heard.length === 2);
    expect(heard.map(({ topic }) => topic)).toEqual(['x/large', 'x/small']);
    const [large, small] = heard;
    expect(large?.payload.length).toBeGreaterThan(1024 * 1024 - 100);
    expect(large?.payload.length).toBeLessThan(1024 * 1024);
    expect(small?.payload.toString()).toBe('ü');
  },
);

test('what answers at a ws:// address but is no broker is told with its status', async () => {
  const server = createServer((_, response) => response.writeHead(404).end());
  openStack().defer(() => server.close());
  const url = `ws://127.0.0.1:${await listening(server)}/`;
  await expect(connect(url, { versions: [5] })).rejects.toMatchObject({
    code: 'broker_unreachable',
    message: expect.stringContaining('404'),
  });
});

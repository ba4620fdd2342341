// Packets of any size from a broker: small ones pass as they are, of large ones the beginning, whatever the pieces.

import { once } from 'node:events';
import { createServer as createWebServer } from 'node:http';
import { createConnection, createServer, Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { Aedes } from 'aedes';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createWebSocketStream } from 'ws';
import type { Incoming } from '../../src/mqtt/message.ts';
import { PacketReader, packetCutter } from '../../src/mqtt/packets.ts';
import { streamBuilder } from '../../src/mqtt/stream.ts';
import { listening, webSockets } from '../support/listening.ts';
import { type Packet, PacketsHeard, written } from '../support/packets.ts';
import { holds } from '../support/property.ts';
import { openStack, type Stack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';
import { openWire } from '../support/wire.ts';
import { connect } from './linked.ts';

const LARGEST = 300;
const LONGEST_BODY = LARGEST - 5;
const PATTERN = Buffer.from(Array.from({ length: 2_000 }, (_, n) => n % 251));

function through(bytes: Buffer, piece: number): Packet[] {
  const reader = new PacketReader();
  const cut = packetCutter(LARGEST);
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += piece)
    for (const part of reader.read(bytes.subarray(at, at + piece))) parts.push(cut(part));
  return [...new PacketsHeard().take(Buffer.concat(parts))];
}

test('gives every packet in its turn, and of large ones the beginning, when they come in any pieces', () => {
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

/** Takes packets of any size, as ours does not. */
async function startGreedyBroker(stack: Stack): Promise<number> {
  const broker = await Aedes.createBroker();
  const server = createServer(broker.handle);
  stack.defer(() => void server.close());
  stack.defer(() => broker.close());
  return listening(server);
}

/** As long as a URL of the scheme is open, a broker answers there. */
async function brokerAt(scheme: string, stack: Stack): Promise<string> {
  const brokerPort = await startGreedyBroker(stack);
  if (scheme === 'mqtt') return `mqtt://127.0.0.1:${brokerPort}`;
  const port = await webSockets(stack, { handleProtocols: () => 'mqtt' }, (socket) => {
    const stream = createWebSocketStream(socket);
    const behind = createConnection(brokerPort, '127.0.0.1');
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

test('tells the HTTP status when what answers at a ws:// address is no broker', async () => {
  const server = createWebServer((_, response) => response.writeHead(404).end());
  openStack().defer(() => server.close());
  const url = `ws://127.0.0.1:${await listening(server)}/`;
  await expect(connect(url, { versions: [5] })).rejects.toMatchObject({
    code: 'broker_unreachable',
    message: expect.stringContaining('404'),
  });
});

test.each(['mqtt', 'mqtts'])(
  'says of %s that nothing is reached when nobody takes the connection, and lets a broker be silent',
  async (scheme) => {
    const stack = openStack();
    const { port } = stack.use(await openWire(undefined, () => undefined));
    const build = await streamBuilder(`${scheme}://127.0.0.1:${port}`, { rejectUnauthorized: true });
    const stream = build();
    stack.defer(() => void stream.destroy());
    const { socket } = stream;
    if (!(socket instanceof Socket)) return expect.unreachable();
    expect(socket.timeout).toBe(14_000);
    await waitFor('the connection', () => !socket.connecting);
    // Where a firewall drops everything, it comes before the connection.
    socket.emit('timeout');
    expect(stream.destroyed || socket.destroyed).toBe(false);
    const late = build();
    const ended = once(late, 'error');
    late.socket.emit('timeout');
    const [fault] = await ended;
    expect(fault).toMatchObject({ code: 'ETIMEDOUT' });
  },
);

// A PostgreSQL on its wire with one account, for tests without a real one: what a claim, its fence and a beat are answered.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { openClaims } from '../../src/store/database/claims.ts';
import { openDatabase } from '../../src/store/database/database.ts';
import { Seal } from '../../src/store/database/seal.ts';
import { handClock } from './clock.ts';
import { logLines } from './logLines.ts';
import { openStack } from './stack.ts';

const TEXT = 25;
const INT8 = 20;
const int16 = (value: number) => Buffer.of(value >> 8, value & 255);
const int32 = (value: number) => Buffer.of(value >> 24, (value >> 16) & 255, (value >> 8) & 255, value & 255);
const message = (kind: string, ...parts: Buffer[]) => {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(kind), int32(body.length + 4), body]);
};
const column = ([name, value]: readonly [string, string | number]) => {
  const type = int32(typeof value === 'number' ? INT8 : TEXT);
  return Buffer.concat([Buffer.from(`${name}\0`), int32(0), int16(0), type, int16(8), int32(0), int16(0)]);
};
const cell = (value: unknown) => Buffer.concat([int32(String(value).length), Buffer.from(String(value))]);
const READY = message('Z', Buffer.from('I'));

/** Each statement finds the account, or not, by how the statement compares the fence. */
export async function openAccountRow() {
  const stack = openStack();
  const clock = handClock('2025-03-10T12:00:00Z');
  const row = { fence: 7, answersAfterMs: 0, pausedMs: 0 };
  function answer(text: string, values: readonly string[]): Buffer {
    // What is kept of the account: nothing.
    const isKept = text.startsWith('SELECT');
    if (!isKept) clock.advance(row.answersAfterMs);
    const isBeat = text.includes('heat2mqtt.process');
    const compared = /(?:AND |a\.)fence (=|<=|>=|<|>) (?:\$2|mine\.fence)/.exec(text)?.[1];
    const own = Number(/\d+/.exec(values[text.includes('mine.fence') ? 3 : 1] ?? '')?.[0]);
    if (compared === undefined && !isKept && !isBeat) row.fence += 1;
    const holds = { '=': row.fence === own, '<=': row.fence <= own, '>=': row.fence >= own };
    const isFound = compared === undefined ? !isKept : Object(holds)[compared];
    const told = isBeat
      ? { number: 1, processes: 1, pausedMs: row.pausedMs, now: clock.now() }
      : { id: 'a', fence: row.fence, failures: 0 };
    const count = int16(Object.keys(told).length);
    return Buffer.concat([
      ...[message('1'), message('2')],
      message('T', count, ...Object.entries(told).map(column)),
      ...(isFound ? [message('D', count, ...Object.values(told).map(cell))] : []),
      message('C', Buffer.from('SELECT\0')),
      READY,
    ]);
  }
  function serve(socket: Socket): void {
    let waiting = Buffer.alloc(0);
    let isOpen = false;
    let text = '';
    let values: string[] = [];
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      waiting = Buffer.concat([waiting, bytes]);
      for (;;) {
        const at = isOpen ? 1 : 0;
        if (waiting.length < at + 4 || waiting.length < at + waiting.readInt32BE(at)) return;
        const kind = isOpen ? String.fromCharCode(waiting[0] ?? 0) : 'startup';
        const body = waiting.subarray(at + 4, at + waiting.readInt32BE(at));
        waiting = waiting.subarray(at + waiting.readInt32BE(at));
        isOpen = true;
        if (kind === 'startup') socket.write(Buffer.concat([message('R', int32(0)), READY]));
        if (kind === 'P') text = body.toString().split('\0')[1] ?? '';
        if (kind === 'B') values = valuesOf(body);
        if (kind === 'S') socket.write(answer(text, values));
      }
    });
  }
  const server = createServer(serve);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  stack.defer(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const database = openDatabase(`postgresql://worker@127.0.0.1:${port}/heat`, 10_000, logLines().log);
  stack.defer(() => database.close());
  const seal = new Seal([randomBytes(32)]);
  const claims = openClaims({ database, seal, clock }, '7d4f1f5e-0000-4000-8000-000000000001', 30);
  const taken = async () => {
    const [claim] = await claims.take(1, 1);
    if (claim === undefined) throw new Error('no claim');
    return claim;
  };
  return { row, database, claims, clock, taken };
}

/** Without a name, and all formats text. */
function valuesOf(bind: Buffer): string[] {
  let at = 2;
  at += 2 + 2 * bind.readInt16BE(at);
  const count = bind.readInt16BE(at);
  at += 2;
  return Array.from({ length: count }, () => {
    const length = bind.readInt32BE(at);
    const from = at + 4;
    at = from + Math.max(0, length);
    return bind.toString('utf8', from, at);
  });
}

// Claims of a fleet on PostgreSQL's wire: when they end, and that nothing is written or opened for another row than their own.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { type Claims, FenceLost, openClaims } from '../../src/store/database/claims.ts';
import { Database } from '../../src/store/database/database.ts';
import { Seal } from '../../src/store/database/seal.ts';
import { handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';
import { openStack } from '../support/stack.ts';

const TEXT = 25;
const INT8 = 20;
const int16 = (value: number) => Buffer.of(value >> 8, value & 255);
const int32 = (value: number) => Buffer.of(value >> 24, (value >> 16) & 255, (value >> 8) & 255, value & 255);
const message = (kind: string, ...parts: Buffer[]) => {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(kind), int32(body.length + 4), body]);
};
const column = (name: string, type: number) =>
  Buffer.concat([Buffer.from(`${name}\0`), int32(0), int16(0), int32(type), int16(8), int32(0), int16(0)]);
const cell = (value: unknown) => Buffer.concat([int32(String(value).length), Buffer.from(String(value))]);
const READY = message('Z', Buffer.from('I'));

/** A PostgreSQL with one account: each statement finds it, or not, by how the statement compares the fence. */
async function openRow() {
  const stack = openStack();
  const clock = handClock('2025-03-10T12:00:00Z');
  const row = { fence: 7, answersAfterMs: 0 };
  function answer(text: string, values: readonly string[]): Buffer {
    // What is kept of the account: nothing.
    const isKept = text.startsWith('SELECT');
    if (!isKept) clock.advance(row.answersAfterMs);
    const compared = /(?:AND |a\.)fence (=|<=|>=|<|>) (?:\$2|mine\.fence)/.exec(text)?.[1];
    const own = Number(/\d+/.exec(values[text.includes('mine.fence') ? 3 : 1] ?? '')?.[0]);
    if (compared === undefined && !isKept) row.fence += 1;
    const holds = { '=': row.fence === own, '<=': row.fence <= own, '>=': row.fence >= own };
    const isFound = compared === undefined ? !isKept : Object(holds)[compared];
    const found = message('D', int16(2), cell('a'), cell(row.fence));
    return Buffer.concat([
      ...[message('1'), message('2')],
      message('T', int16(2), column('id', TEXT), column('fence', INT8)),
      ...(isFound ? [found] : []),
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
  const database = new Database(`postgresql://worker@127.0.0.1:${port}/heat`, 10_000, logLines().log);
  stack.defer(() => database.close());
  const seal = new Seal([randomBytes(32)]);
  const claims = openClaims({ database, seal, clock }, '7d4f1f5e-0000-4000-8000-000000000001', 30);
  const taken = async () => {
    const claim = await claims.takeOne('a');
    if (claim === undefined) throw new Error('no claim');
    return claim;
  };
  return { row, claims, clock, taken };
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

test('a claim lasts from the question, however late the answer comes; so does its renewal', async () => {
  const { row, claims, clock, taken } = await openRow();
  row.answersAfterMs = 5_000;
  const claim = await taken();
  expect(claim.remainingMs()).toBe(25_000);
  clock.advance(10_000);
  await claims.renew([claim]);
  expect(claim.remainingMs()).toBe(25_000);
});

type Taken = Awaited<ReturnType<Awaited<ReturnType<typeof openRow>>['taken']>>;
const END = { dueAt: new Date(0), isPolled: true, isPublished: true };
const WRITES: readonly (readonly [string, (taken: Taken, claims: Claims) => Promise<unknown>])[] = [
  ['a renewal', (claim, claims) => claims.renew([claim]).then(() => claim.check())],
  ['columns', (claim) => claim.write({ failures: 1 })],
  ['the end of a run', (claim) => claim.write({}, END)],
  ['nothing but documents', (claim) => claim.write({})],
  ['the end of the account', (claim) => claim.deleteAccount()],
];

test.each(WRITES)('%s: taken while the fence is our own, refused before and after', async (_, write) => {
  const { row, claims, taken } = await openRow();
  const own = await taken();
  await write(own, claims);
  for (const step of [1, -2]) {
    const claim = await taken();
    row.fence += step;
    await expect(write(claim, claims)).rejects.toBeInstanceOf(FenceLost);
  }
});

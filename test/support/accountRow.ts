// A PostgreSQL on its wire with one account, for tests without a real one: what a claim, its fence and a beat are answered.
import { randomBytes } from 'node:crypto';
import { createServer, type Socket } from 'node:net';
import { openClaims } from '../../src/store/database/claims.ts';
import { openDatabase } from '../../src/store/database/database.ts';
import { Seal } from '../../src/store/database/seal.ts';
import { handClock } from './clock.ts';
import { listening } from './listening.ts';
import { logLines } from './logLines.ts';
import { openStack } from './stack.ts';

const int16 = (value: number) => Buffer.of(value >> 8, value & 255);
const int32 = (value: number) => Buffer.of(value >> 24, (value >> 16) & 255, (value >> 8) & 255, value & 255);
const message = (kind: string, ...parts: Buffer[]) => {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(kind), int32(body.length + 4), body]);
};
/** By PostgreSQL's numbers of types: json, but for columns of bytes. */
const column = (name: string, isBytes: boolean) =>
  Buffer.concat([Buffer.from(`${name}\0`), int32(0), int16(0), int32(isBytes ? 17 : 114), Buffer.alloc(8)]);
function cell(value: unknown): Buffer {
  if (value === null) return int32(-1);
  const text = Buffer.from(Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : JSON.stringify(value));
  return Buffer.concat([int32(text.length), text]);
}
const READY = message('Z', Buffer.from('I'));

interface Written {
  readonly name: string;
  readonly json: unknown;
  /** Base 64. */
  readonly sealed: string | null;
}

/** Each statement finds the account, or not, by how the statement compares the fence. */
export async function openAccountRow() {
  const stack = openStack();
  const clock = handClock('2025-03-10T12:00:00Z');
  const row = {
    fence: 7,
    answersAfterMs: 0,
    pausedMs: 0,
    processes: 1,
    isKeeper: false,
    /** Other columns of the account. */
    columns: {} as Readonly<Record<string, unknown>>,
    /** What is kept of it: documents and ledgers. */
    kept: [] as readonly Readonly<Record<string, unknown>>[],
    /** The process that has given it back last. */
    keptBy: null as string | null,
    /** What is counted of the fleet. */
    counted: {
      health: { failures_in_a_row: 0 },
      fleet: { processes: [], accounts: 1, paused: 0, failing: 0, overdue: 0, oldest_due_at: null },
      ...{ toldToWait: 0, pausedUntil: null as string | null, oldestDueMs: 0 },
      transactions: { next: 100, oldestAge: 0, pid: null as number | null },
      codes: [] as readonly { readonly code: string; readonly accounts: number }[],
    },
    /** How long ago that was counted for all; `null`: it never was. */
    countedAgoMs: null as number | null,
    /** SQLSTATE with which every statement is refused. */
    refuses: null as string | null,
  };
  const statements: { readonly text: string; readonly values: readonly string[] }[] = [];
  function rowsFor(text: string, values: readonly string[]): readonly Readonly<Record<string, unknown>>[] {
    if (text.startsWith('SELECT account')) return row.kept;
    clock.advance(row.answersAfterMs);
    if (text.includes('AS "toldToWait"')) return [{ counted: row.counted }];
    if (text.startsWith('SELECT counted'))
      return row.countedAgoMs === null ? [] : [{ counted: row.counted, ageMs: row.countedAgoMs }];
    const { fence, pausedMs, processes, isKeeper } = row;
    if (text.includes('INSERT INTO heat2mqtt.process'))
      return [{ number: 1, processes, isKeeper, pausedMs, now: clock.now() }];
    const compared = /(?:AND |a\.)fence (=|<=|>=|<|>) (?:\$2|mine\.fence)/.exec(text)?.[1];
    const own = Number(/\d+/.exec(values[text.includes('mine.fence') ? 3 : 1] ?? '')?.[0]);
    const holds = { '=': fence === own, '<=': fence <= own, '>=': fence >= own };
    const isFound = compared === undefined || Object(holds)[compared];
    if (isFound && text.includes('fence = a.fence + 1')) row.fence += 1;
    if (isFound && text.includes('kept_by = given.kept_by'))
      row.keptBy = JSON.parse(values[2] ?? '').row.kept_by;
    return isFound ? [{ id: 'a', fence: row.fence, failures: 0, kept_by: row.keptBy, ...row.columns }] : [];
  }
  /** `isPrepared`: a statement with values is parsed and bound first. */
  function answer(text: string, values: readonly string[], isPrepared = true): Buffer {
    statements.push({ text, values });
    const parsed = isPrepared ? [message('1'), message('2')] : [];
    if (row.refuses !== null)
      return Buffer.concat([
        ...parsed,
        message('E', Buffer.from(`SERROR\0C${row.refuses}\0Mrefused\0\0`)),
        READY,
      ]);
    const rows = rowsFor(text, values);
    const names = Object.keys(rows[0] ?? {});
    const count = int16(names.length);
    return Buffer.concat([
      ...parsed,
      message(
        'T',
        count,
        ...names.map((name) =>
          column(
            name,
            rows.some((each) => Buffer.isBuffer(each[name])),
          ),
        ),
      ),
      ...rows.map((each) => message('D', count, ...names.map((name) => cell(each[name] ?? null)))),
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
        if (kind === 'Q') socket.write(answer(body.toString().split('\0')[0] ?? '', [], false));
      }
    });
  }
  const server = createServer(serve);
  const port = await listening(server);
  stack.defer(() => void server.close());
  const database = openDatabase(`postgresql://worker@127.0.0.1:${port}/heat`, 10_000, logLines().log);
  stack.defer(() => database.close());
  const seal = new Seal([randomBytes(32)]);
  const claims = openClaims({ database, seal, clock }, '7d4f1f5e-0000-4000-8000-000000000001', 30);
  const taken = async () => {
    const [claim] = await claims.take(1, 1);
    if (claim === undefined) throw new Error('no claim');
    return claim;
  };
  /** The documents that each statement has written. */
  const written = () =>
    statements
      .filter(({ text }) => text.includes('INSERT INTO heat2mqtt.document'))
      .map(({ values }) => JSON.parse(values[2] ?? '').documents as Written[]);
  return { row, database, seal, claims, clock, taken, statements, written };
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

// PostgreSQL's wire, for tests without a real one: statements come in, and a test's rows go out.
import { createServer, type Socket } from 'node:net';
import { listening } from './listening.ts';
import type { Stack } from './stack.ts';

export type Row = Readonly<Record<string, unknown>>;

/** Gives the rows of a statement; a text: the SQLSTATE with which it is refused. */
type Answer = (text: string, values: readonly string[]) => readonly Row[] | string;

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

/** `isPrepared`: a statement with values is parsed and bound first. */
function written(answer: readonly Row[] | string, isPrepared: boolean): Buffer {
  const parsed = isPrepared ? [message('1'), message('2')] : [];
  if (typeof answer === 'string') {
    const refusal = message('E', Buffer.from(`SERROR\0C${answer}\0Mrefused\0\0`));
    return Buffer.concat([...parsed, refusal, READY]);
  }
  const names = Object.keys(answer[0] ?? {});
  const count = int16(names.length);
  const columns = names.map((name) =>
    column(
      name,
      answer.some((row) => Buffer.isBuffer(row[name])),
    ),
  );
  const rows = answer.map((row) => message('D', count, ...names.map((name) => cell(row[name] ?? null))));
  return Buffer.concat([
    ...parsed,
    message('T', count, ...columns),
    ...rows,
    message('C', Buffer.from('SELECT\0')),
    READY,
  ]);
}

/** Gives its port. */
export async function startPostgresWire(stack: Stack, answer: Answer): Promise<number> {
  const server = createServer((socket) => serve(socket, answer));
  stack.defer(() => void server.close());
  return listening(server);
}

function serve(socket: Socket, answer: Answer): void {
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
      if (kind === 'S') socket.write(written(answer(text, values), true));
      if (kind === 'Q') {
        const statement = body.toString().split('\0')[0] ?? '';
        // A setting of the connection is no question of the test's.
        socket.write(written(statement.startsWith('SET ') ? [] : answer(statement, []), false));
      }
    }
  });
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

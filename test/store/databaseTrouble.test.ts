// What PostgreSQL says of an error quotes a person: it is told by its SQLSTATE, in our own words, and nothing of the text.
import { createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { safeWords } from '../../src/foundation/failure.ts';
import { DatabaseTrouble, openDatabase } from '../../src/store/database/database.ts';
import { refusalOf } from '../auth/account.ts';
import { listening } from '../support/listening.ts';
import { logLines } from '../support/logLines.ts';
import { openStack } from '../support/stack.ts';

const PERSON = 'Órla Canarywood, 4711083599';
const PATIENCE_MS = 2_000;

/** A message of PostgreSQL's protocol. */
function message(type: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(type), length, body]);
}
const text = (value: string) => Buffer.from(`${value}\0`);
const READY = message('Z', Buffer.from('I'));
const WELCOME = Buffer.concat([message('R', Buffer.alloc(4)), READY]);

/** Every field that an error may have, but its code, says who somebody is. */
function errorResponse(code: string): Buffer {
  const fields = [...'MDHpqWstcdnFLR'].map((field) => text(field + PERSON));
  return message('E', text('SERROR'), text('VERROR'), text(`C${code}`), ...fields, Buffer.alloc(1));
}

/** A server that lets everybody in, and answers each statement with the error; `atOnce`: it lets nobody in. */
async function refusing(code: string, atOnce: boolean): Promise<string> {
  const stack = openStack();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write(atOnce ? errorResponse(code) : WELCOME);
      socket.on('data', () => socket.write(Buffer.concat([errorResponse(code), READY])));
    });
  });
  stack.defer(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `postgres://worker@127.0.0.1:${await listening(server)}/fleet`;
}

test.each([
  ['28P01', '28P01', true],
  ['3D000', '3D000', true],
  ['23505', '23505', false],
  ['XX000', 'XX000', false],
  ['P0001', 'P0001', false],
  ['Canarywood', 'no answer', false],
  ['ORLAW', 'no answer', false],
])('tells nothing but a code when PostgreSQL says %s: it is %s', async (code, told, atOnce) => {
  const { log, lines } = logLines();
  const database = openDatabase(await refusing(code, atOnce), PATIENCE_MS, log);
  const err = await refusalOf(database.query('SELECT 1'));
  await database.close();
  expect(err).toBeInstanceOf(DatabaseTrouble);
  expect(err).toMatchObject({ reason: told });
  log.warn({ err }, 'told');
  expect(`${lines} ${JSON.stringify(safeWords(err))}`).not.toMatch(/canary|4711083599|ORLAW/i);
});

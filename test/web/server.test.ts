// What one connection, and one address, can make the HTTP server do.
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { openServer, type ServerOptions } from '../../src/web/server.ts';
import { handClock } from '../support/clock.ts';
import { openStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

const LARGE = Buffer.alloc(1_000_000, 'x');
// More than the system keeps for a connection.
const HUGE = Buffer.alloc(32_000_000, 'x');
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

/** Paths: `/large` is a megabyte, `/huge` are 32, `/slow` is answered by `finish()`, whatever is posted comes back. */
async function open(options: Partial<ServerOptions> = {}) {
  const stack = openStack();
  const clock = handClock('2026-03-10T12:00:00Z');
  const seen = { asked: 0, underWay: 0 };
  const slow: ServerResponse[] = [];
  const server = await openServer(
    '127.0.0.1:0',
    async (request, response) => {
      seen.asked += 1;
      seen.underWay += 1;
      response.once('close', () => {
        seen.underWay -= 1;
      });
      const posted: Buffer[] = [];
      // A visitor may break off.
      request.on('data', (chunk) => posted.push(chunk)).on('error', () => undefined);
      await once(request, 'end').catch(() => undefined);
      if (request.url === '/slow') slow.push(response);
      else if (request.url === '/large') response.end(LARGE);
      else if (request.url === '/huge') response.end(HUGE);
      else response.end(posted.length > 0 ? Buffer.concat(posted) : `${request.url}\n`);
    },
    { clock, ...options },
  );
  stack.use(server);
  async function visit() {
    const socket: Socket = connect(server.port, '127.0.0.1').on('error', () => undefined);
    stack.defer(() => void socket.destroy());
    await once(socket, 'connect');
    let text = '';
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      text += chunk.replaceAll(/x+/g, 'x');
    });
    return {
      socket,
      send: (what: string) => void socket.write(what),
      said: (what: string) =>
        waitFor(what, () => text.includes(what), { diagnose: () => text.slice(0, 300) }),
      gone: () => waitFor('the end of the connection', () => socket.closed || socket.readableEnded),
      times: (what: string) => text.split(what).length - 1,
    };
  }
  /** A visitor who takes nothing of its answer. */
  async function unread(path = '/huge') {
    const visitor = await visit();
    visitor.socket.pause();
    const { asked } = seen;
    visitor.send(get(path));
    await waitFor('the request', () => seen.asked > asked);
    return visitor;
  }
  async function answered(path = '/healthz') {
    const visitor = await visit();
    visitor.send(get(path));
    await visitor.said('HTTP/1.1 ');
    return visitor;
  }
  return { clock, seen, slow, visit, unread, answered };
}

test('neither reads nor answers what is asked beside the first request when a visitor pipelines', async () => {
  const { seen, slow, unread, visit, answered } = await open();
  const greedy = await visit();
  greedy.send(get('/slow') + get('/page').repeat(99));
  await waitFor('the request', () => slow.length === 1);
  // More than the system keeps for a connection.
  greedy.send(`GET / HTTP/1.1\r\nHost: localhost\r\nX-Padding: ${'x'.repeat(8_000)}\r\n\r\n`.repeat(4_000));
  const other = await unread('/large');
  other.send(get('/page'));
  for (let n = 0; n < 50; n += 1) await (await answered()).gone();
  expect(greedy.socket.writableLength).toBeGreaterThan(0);
  expect(seen.asked).toBe(1 + 1 + 50);
  other.socket.resume();
  await other.gone();
  slow[0]?.end();
  await greedy.gone();
  expect([greedy.times('HTTP/1.1 200 OK'), other.times('HTTP/1.1 200 OK')]).toEqual([1, 1]);
});

test('takes a body whole, and cuts it off in time when it does not end', async () => {
  const { visit } = await open({ limits: { requestMs: 200, checkMs: 20 } });
  const body = 'y'.repeat(100_000);
  const post = (length: number) =>
    `POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${length}\r\n\r\n`;
  const visitor = await visit();
  visitor.send(post(body.length) + body);
  await visitor.gone();
  expect(visitor.times('y')).toBe(body.length);
  for (const words of ['', `${post(9)}half`]) {
    const silent = await visit();
    silent.send(words);
    await silent.gone();
  }
});

test('cuts a visitor off in time when an answer is not read', async () => {
  const { seen, unread } = await open({ limits: { unreadMs: 100 } });
  await unread();
  await waitFor('the end of the answer', () => seen.underWay === 0);
});

test('closes the oldest connection that asks nothing, then the oldest that reads nothing, when there are too many', async () => {
  const { clock, seen, visit, unread, answered } = await open({ limits: { each: 3 } });
  await unread();
  const first = await visit();
  const second = await visit();
  clock.advance(1_000);
  const third = await answered('/page');
  await first.gone();
  second.send(get('/again'));
  await second.said('/again');
  await second.gone();
  await third.gone();
  await unread();
  await unread();
  clock.advance(1_000);
  expect(seen.underWay).toBe(3);
  await (await answered('/page')).said('200 OK');
  await waitFor('the end of one', () => seen.underWay === 2);
});

test('tells one more visitor health alone when every connection waits for its answer', async () => {
  const { clock, seen, slow, visit, answered } = await open({ limits: { each: 3 } });
  for (let n = 0; n < 3; n += 1) (await visit()).send(get('/slow'));
  await waitFor('all three', () => slow.length === 3);
  clock.advance(1_000);
  for (const path of ['/healthz', '/readyz?verbose']) await (await answered(path)).said('200 OK');
  const refused = await answered('/page');
  await refused.said('503 Service Unavailable');
  await refused.gone();
  expect(seen.asked).toBe(5);
  slow[0]?.end();
  await waitFor('room', async () => (await answered('/page')).times('200 OK') === 1);
});

test('bounds an address only by what all have together when many share it', async () => {
  const { clock, slow, visit, answered } = await open({ isShared: () => true, limits: { each: 1, all: 3 } });
  for (let n = 0; n < 2; n += 1) (await visit()).send(get('/slow'));
  await waitFor('both', () => slow.length === 2);
  const third = await answered('/page');
  await third.said('200 OK');
  clock.advance(1_000);
  await (await answered('/page')).said('200 OK');
  await third.gone();
});

// The HTTP client against a server that answers as it is told: compressed bodies, redirects, and broken responses.

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/foundation/clock.ts';
import { createHttpClient } from '../../src/http/client.ts';
import { listening } from '../support/listening.ts';

const { send, fetch } = createHttpClient(systemClock);

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

async function serve(answer: Answer): Promise<{ url: (path: string) => URL; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part) => {
      body += part;
    });
    request.on('end', () => {
      const { method, url, headers } = request;
      asked.push([method, url, headers.authorization ?? 'no token', body].join(' '));
      answer(request, response);
    });
  });
  const port = await listening(server);
  onTestFinished(() => void server.close().closeAllConnections());
  return { asked, url: (path) => new URL(path, `http://127.0.0.1:${port}`) };
}

const POST = { method: 'POST', headers: { authorization: 'Bearer k' }, body: '{"size":0}' } as const;
const GET = { ...POST, method: 'GET', body: null } as const;

const WARM = '{"kWh":"Wärme"}';
test.each([
  ['gzip', gzipSync(WARM), WARM],
  ['deflate', deflateSync(WARM), WARM],
  ['br', brotliCompressSync(WARM), WARM],
  ['GZIP', gzipSync(WARM), WARM],
  ['gzip', Buffer.alloc(0), ''],
  ['constructor', Buffer.from(WARM), WARM],
])('a body with the Content-Encoding %s is unpacked', async (encoding, packed, wanted) => {
  const { url } = await serve((_, response) => {
    response.writeHead(200, { 'content-encoding': encoding }).end(packed);
  });
  const { status, body } = await send(url('/'), POST);
  expect([status, body.toString()]).toEqual([200, wanted]);
});

test('tells of each request whether it was answered, and says nothing of a packed body when fetch has unpacked it', async () => {
  const seen: boolean[] = [];
  const client = createHttpClient(systemClock, ({ ok }) => void seen.push(ok));
  const { url } = await serve(({ url: path }, response) => {
    if (path === '/broken') response.destroy();
    else response.writeHead(500, { 'content-encoding': 'gzip' }).end(gzipSync(WARM));
  });
  const { headers } = await client.fetch(url('/'));
  expect(headers.get('content-encoding')).toBeNull();
  await expect(client.send(url('/broken'), GET)).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(seen).toEqual([true, false]);
});

/** Answers the first request of each connection, and closes it when a second one comes. */
async function serveOncePerConnection() {
  const seen = new WeakSet<Socket>();
  return serve(({ socket }, response) => {
    if (seen.has(socket)) socket.destroy();
    else response.end('warm');
    seen.add(socket);
  });
}

test('sends a request that only reads once more when a kept-alive connection is closed', async () => {
  const { url, asked } = await serveOncePerConnection();
  await send(url('/first'), GET);
  const { body } = await send(url('/second'), { ...POST, onlyReads: true });
  expect(body.toString()).toBe('warm');
  expect(asked.map((line) => line.split(' ')[1])).toEqual(['/first', '/second', '/second']);
});

test('never repeats any other request when a kept-alive connection is closed', async () => {
  const { url, asked } = await serveOncePerConnection();
  await send(url('/first'), GET);
  await expect(send(url('/token'), POST)).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(asked).toHaveLength(2);
});

test('comes to an end when bytes unpack to nothing', async () => {
  const empty = gzipSync('');
  const { url } = await serve((_, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' });
    const flood = () => {
      while (!response.destroyed && response.write(Buffer.concat(Array(1_000).fill(empty))));
    };
    response.on('drain', flood);
    flood();
  });
  await expect(send(url('/'), GET)).rejects.toMatchObject({ code: 'reply_too_large' });
});

test.each([
  ['more than 100,000 values', `[${Array(100_000).fill('{}').join(',')}]`],
  ['more than 64 values in one another', '['.repeat(65) + ']'.repeat(65)],
  ['more than 2 MiB', `"${'x'.repeat(2 * 1024 * 1024)}"`],
])('fetch refuses %s before its user parses them', async (excess, body) => {
  const { url } = await serve((_, response) => response.end(body));
  await expect(fetch(url('/'))).rejects.toMatchObject({ code: 'reply_too_large', excess });
});

test('rejects when a compressed body breaks off', async () => {
  const packed = gzipSync(JSON.stringify(Array.from({ length: 500 }, (_, n) => n * n)));
  const { url } = await serve((_, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed.subarray(0, packed.length / 2));
  });
  await expect(send(url('/'), GET)).rejects.toMatchObject({ code: 'Z_BUF_ERROR' });
});

/** `OTHER` is another origin. */
test.each([
  ['a POST that is to be repeated', 307, POST, '/new', ['POST /new Bearer k {"size":0}']],
  ['a POST that has moved for good', 308, POST, '/new', ['POST /new Bearer k {"size":0}']],
  ['a GET to see another page', 303, GET, '/new', ['GET /new Bearer k ']],
  ['a GET', 302, GET, '/new', ['GET /new Bearer k ']],
  ['a public question, to another origin', 301, { ...GET, headers: {} }, 'OTHER', ['GET /there no token ']],
  ['no body to another origin', 307, { ...POST, headers: {} }, 'OTHER', []],
  ['no token to another origin', 302, GET, 'OTHER', []],
  ['no POST that has moved', 301, POST, '/new', []],
  ['nothing without an address', 302, GET, undefined, []],
  ['nothing to an address that is not a URL', 302, GET, 'http://[broken', []],
  ['nothing to an address of another protocol', 302, GET, 'ftp://files.example.org/', []],
  ['nor by a public question', 302, { ...GET, headers: {} }, 'ftp://files.example.org/', []],
])('a redirect is followed by %s: %i', async (_, code, request, location, wanted) => {
  const other = await serve((_request, response) => response.end('{}'));
  const there = location === 'OTHER' ? other.url('/there').href : location;
  const { url, asked } = await serve(({ url: path }, response) => {
    response.writeHead(path === '/old' ? code : 200, there === undefined ? {} : { location: there }).end();
  });
  expect(await send(url('/old'), request)).toMatchObject({ status: wanted.length > 0 ? 200 : code });
  expect([...asked.slice(1), ...other.asked]).toEqual(wanted);
});

test('returns a redirect when it is told not to follow', async () => {
  const { url, asked } = await serve((_, response) => {
    response.writeHead(307, { location: '/new' }).end();
  });
  expect(await send(url('/'), { ...POST, followRedirects: false })).toMatchObject({ status: 307 });
  // openid-client asks like this: a password must not be sent on to the address of a redirect.
  const password = new URLSearchParams({ password: 'not-for-others' });
  const response = await fetch(url('/token'), { method: 'POST', body: password, redirect: 'manual' });
  expect(response.status).toBe(307);
  expect(asked).toEqual(['POST / Bearer k {"size":0}', 'POST /token no token password=not-for-others']);
});

test.each([
  [418, 'teapot ☕'],
  [204, ''],
  [304, ''],
])('fetch gives status, headers and body as they were: %i', async (code, body) => {
  const { url } = await serve((_, response) => response.writeHead(code, { 'x-note': 'ok' }).end(body));
  const response = await fetch(url('/'));
  expect([response.status, response.headers.get('x-note'), await response.text()]).toEqual([
    code,
    'ok',
    body,
  ]);
});

test('fetch gives the last status that it knows for one beyond it', async () => {
  const { url } = await serve((_, response) => response.writeHead(999).end('no'));
  const response = await fetch(url('/'));
  expect([response.status, await response.text()]).toEqual([599, 'no']);
});

test('ends with the sixth redirect when they lead in a circle', async () => {
  const { url, asked } = await serve((_, response) => {
    response.writeHead(302, { location: '/again' }).end();
  });
  expect(await send(url('/'), GET)).toMatchObject({ status: 302 });
  expect(asked).toHaveLength(6);
});

test('ends with the reason of the signal when that aborts, while it waits and while the body comes', async () => {
  let late = new AbortController();
  const timeOut = () => late.abort(new DOMException('time ran out', 'TimeoutError'));
  const { url } = await serve(({ url: path }, response) => {
    if (path === '/body') response.write('{"half":', () => setImmediate(timeOut));
    else timeOut();
  });
  for (const path of ['/silence', '/body']) {
    late = new AbortController();
    await expect(send(url(path), { ...GET, signal: late.signal })).rejects.toThrow('time ran out');
  }
});

test('rejects when the signal aborts a body without a length', async () => {
  const late = new AbortController();
  const begun = () => setImmediate(() => late.abort(new Error('too late')));
  subscribe('http.client.response.finish', begun);
  onTestFinished(() => void unsubscribe('http.client.response.finish', begun));
  const { url } = await serve(({ socket }) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n{"whole":true}');
  });
  await expect(send(url('/'), { ...GET, signal: late.signal })).rejects.toThrow('too late');
});

test('rejects when a response changes the protocol', async () => {
  const { url } = await serve(({ socket }) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n');
  });
  await expect(send(url('/'), GET)).rejects.toMatchObject({ code: 'ECONNRESET' });
});

// The HTTP client against a server that answers as it is told: compressed bodies, redirects, and broken responses.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/foundation/clock.ts';
import { createHttpClient } from '../../src/http/client.ts';

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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  return { asked, url: (path) => new URL(path, `http://127.0.0.1:${port}`) };
}

const POST = { method: 'POST', headers: { authorization: 'Bearer k' }, body: '{"size":0}' } as const;
const GET = { ...POST, method: 'GET', body: null } as const;

test.each([
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
] as const)('a body compressed as %s is unpacked', async (encoding, pack) => {
  const { url } = await serve((_, response) => {
    response.writeHead(200, { 'content-encoding': encoding }).end(pack('{"kWh":"Wärme"}'));
  });
  const { status, body } = await send(url('/'), POST);
  expect([status, body.toString()]).toEqual([200, '{"kWh":"Wärme"}']);
});

test.each([
  ['GZIP', gzipSync('{}'), '{}'],
  ['gzip', Buffer.alloc(0), ''],
  ['constructor', Buffer.from('{}'), '{}'],
])('an odd Content-Encoding that can be read all the same: %s', async (encoding, packed, wanted) => {
  const { url } = await serve((_, response) => {
    response.writeHead(200, { 'content-encoding': encoding }).end(packed);
  });
  expect((await send(url('/'), GET)).body.toString()).toBe(wanted);
});

test('a compressed body that breaks off is an error, not a shorter body', async () => {
  const packed = gzipSync(JSON.stringify(Array.from({ length: 500 }, (_, n) => n * n)));
  const { url } = await serve((_, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed.subarray(0, packed.length / 2));
  });
  await expect(send(url('/'), GET)).rejects.toMatchObject({ code: 'Z_BUF_ERROR' });
});

test.each([
  [307, POST, ['POST /old Bearer k {"size":0}', 'POST /new Bearer k {"size":0}']],
  [302, GET, ['GET /old Bearer k ', 'GET /new Bearer k ']],
])('%i: the redirect is followed', async (code, request, wanted) => {
  const { url, asked } = await serve(({ url: path }, response) => {
    response.writeHead(path === '/old' ? code : 200, { location: '/new' }).end('{}');
  });
  expect(await send(url('/old'), request)).toMatchObject({ status: 200 });
  expect(asked).toEqual(wanted);
});

test.each([
  ['its body', 307, { ...POST, headers: {} }],
  ['its token', 302, GET],
  ['both', 307, POST],
])('a request keeps %s to its origin: %i', async (_, code, request) => {
  const other = await serve((_, response) => response.end('{}'));
  const { url } = await serve((_, response) => {
    response.writeHead(code, { location: other.url('/there').href }).end();
  });
  expect(await send(url('/here'), request)).toMatchObject({ status: code });
  expect(other.asked).toEqual([]);
});

test('a public question follows a redirect to another origin', async () => {
  const other = await serve((_, response) => response.end('{}'));
  const { url } = await serve((_, response) => {
    response.writeHead(301, { location: other.url('/there').href }).end();
  });
  expect(await send(url('/here'), { ...GET, headers: {} })).toMatchObject({ status: 200 });
  expect(other.asked).toEqual(['GET /there no token ']);
});

test.each([
  ['a POST that has moved', 301, POST, '/new'],
  ['no address', 302, GET, undefined],
  ['an address that is not a URL', 302, GET, 'http://[broken'],
  ['an address of another protocol', 302, GET, 'ftp://files.example.org/'],
])('not followed: %s', async (_, code, request, location) => {
  const { url, asked } = await serve((_request, response) => {
    response.writeHead(code, location === undefined ? {} : { location }).end('moved');
  });
  expect(await send(url('/'), request)).toMatchObject({ status: code });
  expect(asked).toHaveLength(1);
});

test('fetch and send return a redirect when they are told not to follow', async () => {
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

test('a redirect loop ends with the sixth redirect', async () => {
  const { url, asked } = await serve((_, response) => {
    response.writeHead(302, { location: '/again' }).end();
  });
  expect(await send(url('/'), GET)).toMatchObject({ status: 302 });
  expect(asked).toHaveLength(6);
});

test('a signal ends it while it waits and while the body comes, and tells why', async () => {
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

test('a body without a length that ends when the signal aborts is not complete', async () => {
  const late = new AbortController();
  const begun = () => setImmediate(() => late.abort(new Error('too late')));
  subscribe('http.client.response.finish', begun);
  onTestFinished(() => void unsubscribe('http.client.response.finish', begun));
  const { url } = await serve(({ socket }) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n{"whole":true}');
  });
  await expect(send(url('/'), { ...GET, signal: late.signal })).rejects.toThrow('too late');
});

test('a response that changes the protocol is an error', async () => {
  const { url } = await serve(({ socket }) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n');
  });
  await expect(send(url('/'), GET)).rejects.toMatchObject({ code: 'ECONNRESET' });
});

// GET /events on the wire: what comes first, what comes live, and readers that do not read.
import { expect, test } from 'vitest';
import { createLog, createScrubber, LogTail } from '../../src/foundation/log.ts';
import { turn, waitFor } from '../support/waitFor.ts';
import { cookieOf, openServer, PASSWORD } from './served.ts';
import { openStream } from './stream.ts';

async function follow(server: Awaited<ReturnType<typeof openServer>>, headers = {}) {
  const settle = async () => {
    server.clock.advance(100);
    await turn();
  };
  return server.stack.use(await openStream(server.address, headers, settle));
}

test('documents as they stand, each once, then ready, then what changes; a cleared topic is null', async () => {
  const server = await openServer();
  server.documents.set('bridge/state', 'online');
  server.documents.set('meter/m1/state', '{"day":"2026-03-09"}');
  const stream = await follow(server);
  await stream.ready();
  expect(stream.events).toEqual([
    { event: 'message', data: { topic: 'bridge/state', payload: 'online' } },
    { event: 'message', data: { topic: 'meter/m1/state', payload: { day: '2026-03-09' } } },
    { event: 'link', data: { broker: 'none' } },
    { event: 'ready', data: {} },
  ]);
  server.documents.set('meter/m1/state', '');
  server.documents.event({ topic: 'meter/m1/event', payload: '{"event_type":"new_day"}' });
  await stream.until('both', () => stream.messages().length === 4);
  expect(stream.messages().slice(2)).toEqual([
    { topic: 'meter/m1/state', payload: null },
    { topic: 'meter/m1/event', payload: { event_type: 'new_day' } },
  ]);
  expect(stream.headers).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
  });
});

test('the newest 200 lines of the log, scrubbed, and those that come', async () => {
  const logTail = new LogTail();
  const scrubber = createScrubber();
  scrubber.register('hunter2 hunter2');
  const log = createLog({ level: 'info', scrubber, write: () => undefined, tail: logTail });
  for (let n = 0; n < 250; n += 1) log.info({ n }, 'a line');
  const server = await openServer({ logTail });
  const stream = await follow(server);
  const lines = () => stream.events.filter(({ event }) => event === 'log').map(({ data }) => data);
  await stream.ready();
  expect(lines()).toHaveLength(200);
  expect(lines()[0]).toEqual({ time: expect.any(String), level: 'info', message: 'a line · n=50' });
  log.warn({ err: new TypeError('no hunter2 hunter2'), account: 'home' }, 'fault');
  await stream.until('the line', () => lines().length === 201);
  expect(lines().at(-1)).toMatchObject({ level: 'warn', message: 'fault · no [secret] · account=home' });
});

test('a line that is no JSON is shown as it is', async () => {
  const server = await openServer();
  server.logTail.add('{"level":"info", broken');
  const stream = await follow(server);
  await stream.ready();
  server.logTail.add('broken too');
  const lines = () => stream.events.filter(({ event }) => event === 'log').map(({ data }) => data);
  await stream.until('both', () => lines().length === 2);
  expect(lines()).toEqual([{ message: '{"level":"info", broken' }, { message: 'broken too' }]);
});

test('a reader who does not read is cut off, and costs nobody else anything', async () => {
  const server = await openServer({ limits: { unreadMs: 1_000 } });
  for (let n = 0; n < 300; n += 1)
    server.documents.set(`meter/m${n}/history`, JSON.stringify('x'.repeat(100_000)));
  const slow = await follow(server);
  slow.pause();
  const other = await follow(server);
  await other.until('everything', () => other.messages().length === 300);
  await other.until('the end of the slow one', () => server.documents.readers === 1);
  expect(other.isOver).toBe(false);
});

test('one who lets too many events gather is cut off too', async () => {
  const server = await openServer();
  const stream = await follow(server);
  await stream.ready();
  for (let n = 0; n < 1_100; n += 1) server.documents.event({ topic: 'bridge/event', payload: '{}' });
  await stream.until('the end', () => server.documents.readers === 0);
});

test('so many streams and no more: the oldest makes room', async () => {
  const server = await openServer();
  const streams: Awaited<ReturnType<typeof follow>>[] = [];
  for (let n = 0; n < 25; n += 1) streams.push(await follow(server));
  await waitFor('room', () => server.documents.readers === 24 && streams[0]?.isOver);
  await streams[24]?.ready();
  expect(streams.filter(({ isOver }) => isOver)).toHaveLength(1);
  expect((await server.ask('/events', { method: 'HEAD' })).status).toBe(200);
});

test('the stream lives while nothing happens, and ends at once when its session is closed', async () => {
  const server = await openServer({ readPassword: async () => PASSWORD });
  const cookie = cookieOf(await server.signIn(PASSWORD));
  const other = cookieOf(await server.signIn(PASSWORD));
  const stream = await follow(server, { cookie });
  const another = await follow(server, { cookie: other });
  await stream.ready();
  await another.ready();
  for (let n = 0; n < 10; n += 1) {
    server.clock.advance(20_000);
    await turn(5);
  }
  expect(stream.isOver).toBe(false);
  await server.ask('/session', { method: 'DELETE', headers: { cookie } });
  await waitFor('the end', () => stream.isOver);
  expect([another.isOver, server.documents.readers]).toEqual([false, 1]);
});

test('the stream ends with another password, also while something happens all the time', async () => {
  let password = PASSWORD;
  const server = await openServer({ readPassword: async () => password });
  const cookie = cookieOf(await server.signIn(PASSWORD));
  const stream = await follow(server, { cookie });
  await stream.ready();
  password = 'another';
  await stream.until('the end', () => {
    server.documents.set('meter/m1/state', '{}');
    server.clock.advance(1_000);
    return stream.isOver;
  });
});

// GET /events on the wire: the log, how long a stream lives, and readers that do not read. What is told by a daemon: documents.test.ts.
import { get } from 'node:http';
import { expect, test, vi } from 'vitest';
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

test('sends the newest 200 lines of the log, scrubbed, then those that come, when the stream is opened', async () => {
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
  log.warn({ err: new TypeError('private'), account: 'hunter2 hunter2' }, 'fault');
  logTail.add('{"level":"info", broken');
  await stream.until('the lines', () => lines().length === 202);
  expect(lines().slice(200)).toMatchObject([
    { level: 'warn', message: 'fault · TypeError · account=[secret]' },
    { message: '{"level":"info", broken' },
  ]);
});

test('sends no more lines when a reader has left', async () => {
  const logTail = new LogTail();
  const followers = new Set<unknown>();
  const follower = logTail.follow.bind(logTail);
  logTail.follow = (take) => {
    const stop = follower(take);
    followers.add(take);
    return () => void (followers.delete(take) && stop());
  };
  const server = await openServer({ logTail });
  const stream = await follow(server);
  await stream.ready();
  expect(followers.size).toBe(1);
  stream.stop();
  await waitFor('its end', () => followers.size === 0);
});

test('ends a stream when its reader leaves before it has begun', async () => {
  const leaving: (() => void)[] = [];
  const readPassword = async () => {
    const leave = leaving.pop();
    leave?.();
    if (leave) await turn(50);
    return PASSWORD;
  };
  const logTail = new LogTail();
  const begun = vi.spyOn(logTail, 'follow');
  const server = await openServer({ readPassword, logTail });
  const cookie = cookieOf(await server.signIn(PASSWORD));
  const reader = get(`${server.address}/events`, { headers: { cookie }, agent: false });
  reader.on('error', () => undefined);
  leaving.push(() => reader.destroy());
  await waitFor('its beginning', () => begun.mock.calls.length === 1);
  await waitFor('its end', () => server.documents.readers === 0);
});

test("cuts a reader off, at nobody else's cost, when they read nothing or too much gathers for them", async () => {
  const server = await openServer({ limits: { unreadMs: 1_000 } });
  for (let n = 0; n < 300; n += 1)
    server.documents.set(`meter/m${n}/history`, JSON.stringify('x'.repeat(100_000)));
  const slow = await follow(server);
  slow.pause();
  const other = await follow(server);
  await other.until('everything', () => other.messages().length === 300);
  await other.until('the end of the slow one', () => server.documents.readers === 1);
  expect(other.isOver).toBe(false);
  const payload = JSON.stringify('x'.repeat(10_000));
  for (let n = 0; n < 3_000; n += 1) server.documents.event({ topic: 'bridge/event', payload });
  await other.until('the end', () => server.documents.readers === 0);
});

test('ends the oldest stream when there is one too many', async () => {
  const server = await openServer();
  // One that has left takes no room.
  (await follow(server)).stop();
  await waitFor('its end', () => server.documents.readers === 0);
  const streams: Awaited<ReturnType<typeof follow>>[] = [];
  for (let n = 0; n < 25; n += 1) streams.push(await follow(server));
  await waitFor('room', () => server.documents.readers === 24 && streams[0]?.isOver);
  await streams[24]?.ready();
  expect(streams.filter(({ isOver }) => isOver)).toHaveLength(1);
  expect((await server.ask('/events', { method: 'HEAD' })).status).toBe(200);
});

test('warns of nothing when one session has many streams open', async () => {
  const warnings: Error[] = [];
  const listen = (warning: Error) => void warnings.push(warning);
  process.on('warning', listen);
  const server = await openServer({ readPassword: async () => PASSWORD });
  const cookie = cookieOf(await server.signIn(PASSWORD));
  for (let n = 0; n < 12; n += 1) await (await follow(server, { cookie })).ready();
  process.off('warning', listen);
  expect(warnings).toEqual([]);
});

test('keeps a stream alive when nothing happens, and ends it when its session is closed or the password is another', async () => {
  let password = PASSWORD;
  const server = await openServer({ readPassword: async () => password });
  const [own, others] = [cookieOf(await server.signIn(PASSWORD)), cookieOf(await server.signIn(PASSWORD))];
  const stream = await follow(server, { cookie: own });
  const other = await follow(server, { cookie: others });
  await stream.ready();
  await other.ready();
  for (let n = 0; n < 10; n += 1) {
    server.clock.advance(20_000);
    await turn(5);
  }
  expect(stream.isOver).toBe(false);
  await server.ask('/session', { method: 'DELETE', headers: { cookie: own } });
  await waitFor('the end', () => stream.isOver);
  expect([other.isOver, server.documents.readers]).toEqual([false, 1]);
  password = 'another';
  // Something happens all the time.
  await other.until('the end', () => {
    server.documents.set('meter/m1/state', '{}');
    server.clock.advance(1_000);
    return other.isOver;
  });
});

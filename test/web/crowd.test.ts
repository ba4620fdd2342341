// Many connections from many addresses that ask for nothing to its end: health is answered all the same, and the page to others.
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { turn, waitFor } from '../support/waitFor.ts';
import { openServer } from './served.ts';
import { openStream } from './stream.ts';

type Server = Awaited<ReturnType<typeof openServer>>;

const MOST = 512;
// Somebody who has to wait for the time of another to be up waits for 10 s. A busy machine takes its time as well.
const SOON_MS = 5_000;
const HEAD = 'Host: localhost\r\nContent-Type: application/json\r\n';
const HALF = {
  nothing: '',
  'half a head': `GET / HTTP/1.1\r\n${HEAD}`,
  'half a body': `POST /session HTTP/1.1\r\n${HEAD}Content-Length: 100\r\n\r\n{"passw`,
  'half a chunk': `POST /session HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n64\r\n{"passw`,
} as const;

/** Connections that say so much and no more, and come again whenever they are sent away. `each`: from one address. */
async function besiege({ port, stack }: Server, words: string, each: number) {
  let isOver = false;
  const open = new Set<ReturnType<typeof connect>>();
  stack.defer(() => {
    isOver = true;
    for (const socket of open) socket.destroy();
  });
  const come = (nth: number) => {
    const network = Math.floor(nth / each) + 2;
    const localAddress = `127.0.${Math.floor(network / 250)}.${network % 250}`;
    const socket = connect({ port, host: '127.0.0.1', localAddress }, () => void socket.write(words));
    open.add(socket);
    socket.on('error', () => undefined).resume();
    socket.once('close', () => {
      open.delete(socket);
      if (!isOver) setImmediate(come, nth);
    });
  };
  for (let nth = 0; nth < MOST; nth += 1) come(nth);
  await waitFor(
    'all of them',
    () => [...open].filter(({ readyState }) => readyState === 'open').length === MOST,
  );
}

/** Health answers soon, as often as a minute has asks of it. */
async function demandHealth({ ask }: Server): Promise<void> {
  for (let n = 0; n < 21; n += 1) {
    const began = performance.now();
    expect(await ask('/healthz')).toMatchObject({ status: 200, text: 'healthy\n' });
    // All waits together would be longer than a test may last.
    expect(performance.now() - began).toBeLessThan(SOON_MS);
  }
}

test.each(Object.entries(HALF))(
  'answers a newcomer before the time of anybody is up when 512 connections from 16 addresses have sent %s',
  async (_, words) => {
    const server = await openServer();
    const settle = async () => {
      server.clock.advance(100);
      await turn();
    };
    const stream = server.stack.use(await openStream(server.address, {}, settle));
    await stream.ready();
    await besiege(server, words, 32);
    await demandHealth(server);
    for (const path of ['/', '/page.js', '/session'])
      expect(await server.ask(path)).toMatchObject({ status: 200 });
    expect(await server.ask('/request/refresh', { method: 'POST', body: 'now' })).toMatchObject({
      text: 'refresh now',
    });
    server.documents.set('meter/m1/state', '{}');
    await stream.until('what is new', () => stream.messages().length === 1);
    expect(stream.isOver).toBe(false);
  },
);

test.each(Object.entries(HALF))(
  'serves the page as soon as one of them has waited for a second when 512 addresses have sent %s',
  async (_, words) => {
    const server = await openServer();
    await besiege(server, words, 1);
    await demandHealth(server);
    server.clock.advance(1_000);
    expect(await server.ask('/')).toMatchObject({ status: 200 });
  },
);

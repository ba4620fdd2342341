// What a broker says beside its codes quotes a person: it is told by the code, in our own words, and nothing of the text.
import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { safeWords } from '../../src/foundation/failure.ts';
import { openAuthority } from '../support/authority.ts';
import { listening } from '../support/listening.ts';
import { logLines } from '../support/logLines.ts';
import { openStack } from '../support/stack.ts';
import { startStrictBroker, type Verdicts } from '../support/strictBroker.ts';
import { startTlsEnd } from '../support/tlsEnd.ts';
import { waitFor } from '../support/waitFor.ts';
import { connect, openLink, state } from './linked.ts';

const WORDS = 'Órla Canarywood, 4711083599';
const PERSONAL = /Órla|Canary|4711083599/i;
const [BANNED, NOT_AUTHORIZED, QUOTA_EXCEEDED, USE_ANOTHER_SERVER] = [0x8a, 0x87, 0x97, 0x9c];

/** A link to a broker that gives its verdicts, with words. */
async function judged(verdicts: Verdicts) {
  const broker = await startStrictBroker({ ...verdicts, words: WORDS });
  const opened = openLink(openStack(), broker.url, { at: () => ({ versions: [5] }) });
  return { ...opened, broker };
}

const silent = (lines: readonly string[], told: readonly unknown[] = []) =>
  expect(lines.join('') + JSON.stringify(told.map(safeWords))).not.toMatch(PERSONAL);

test.each([
  [BANNED, 'this client is banned'],
  [USE_ANOTHER_SERVER, 'another server'],
])('a connection refused by %i', async (code, words) => {
  const { lines, pass } = await judged({ connect: () => code });
  await waitFor('the refusal', async () => {
    await pass(500);
    return lines.join('').includes(words);
  });
  silent(lines);
});

test('quotes nothing when a message and a subscription are refused and the connection is dismissed', async () => {
  const { link, lines, broker, isConnected } = await judged({
    publish: (topic) => (topic === 'x/value' ? QUOTA_EXCEEDED : 0),
    subscribe: () => NOT_AUTHORIZED,
  });
  await isConnected();
  link.publish([state('1')]);
  await waitFor('the refusals', () => link.refusals().length >= 2);
  broker.dismiss(USE_ANOTHER_SERVER);
  await waitFor('the end', () => lines.join('').includes('another server'));
  expect(link.refusals().map(({ code }) => code)).toEqual(
    expect.arrayContaining(['publish_refused', 'subscribe_refused']),
  );
  silent(lines, link.refusals());
});

test.each<[string, (words: string) => Promise<string>]>([
  [
    'HTTP with words beside its status',
    async (words) => {
      const server = createServer();
      server.on('upgrade', (_, socket) => socket.end(`HTTP/1.1 403 ${words}\r\n\r\n`, 'latin1'));
      openStack().defer(() => void server.close());
      return `ws://127.0.0.1:${await listening(server)}`;
    },
  ],
  [
    'no HTTP at all',
    async (words) => {
      const server = createServer();
      server.on('upgrade', (_, socket) => socket.end(`Dear ${words}\r\n\r\n`, 'latin1'));
      openStack().defer(() => void server.close());
      return `ws://127.0.0.1:${await listening(server)}`;
    },
  ],
  [
    'the certificate of somebody',
    async (words) => {
      const hosts = ['orla-canarywood.example.org'];
      const server = openAuthority({ name: words }).server({ name: words, hosts });
      return `mqtts://127.0.0.1:${await startTlsEnd(openStack(), server)}`;
    },
  ],
])('a connection that is answered by %s', async (_, answering) => {
  const err = await connect(await answering(WORDS)).catch((fault: unknown) => fault);
  expect(err).toMatchObject({ code: expect.stringMatching(/^broker_/) });
  const { log, lines } = logLines();
  log.warn({ err }, 'told');
  silent(lines, [err]);
});

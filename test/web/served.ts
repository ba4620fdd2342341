// The page's server over real HTTP, with documents and requests that a test makes up.

import { writeFile } from 'node:fs/promises';
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type RequestListener,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { LogTail } from '../../src/foundation/log.ts';
import { pageWords, visitorsLanguage } from '../../src/publication/language.ts';
import type { Document, DocumentSource } from '../../src/web/events.ts';
import { createPage, type PageOptions } from '../../src/web/page.ts';
import { createSignIns } from '../../src/web/signIn.ts';
import { within } from '../../src/web/visitor.ts';
import { handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';
import { openStack } from '../support/stack.ts';

export const PASSWORD = 'páss wörd of the page';

/** Documents that a test changes by `set`. */
export class Shelf implements DocumentSource {
  readonly #documents = new Map<string, string>();
  readonly #readers = new Set<{
    readonly on: Parameters<DocumentSource['follow']>[0];
    readonly due: Set<string>;
  }>();

  get readers(): number {
    return this.#readers.size;
  }

  set(topic: string, payload: string): void {
    this.#documents.set(topic, payload);
    for (const { on, due } of this.#readers) {
      due.add(topic);
      on.changed();
    }
  }

  event(event: Document): void {
    for (const { on } of this.#readers) on.event(event);
  }

  broker() {
    return 'none' as const;
  }

  follow(on: Parameters<DocumentSource['follow']>[0]) {
    const reader = { on, due: new Set(this.#documents.keys()) };
    this.#readers.add(reader);
    return {
      take: () => {
        const [topic] = reader.due;
        if (topic === undefined) return null;
        reader.due.delete(topic);
        return [{ topic, payload: this.#documents.get(topic) ?? '' }];
      },
      stop: () => void this.#readers.delete(reader),
    };
  }
}

export interface Asked {
  readonly method?: string;
  readonly headers?: IncomingHttpHeaders | undefined;
  readonly body?: string;
}

const unused = () => Promise.reject(new Error('not used'));

export async function openServer({
  trustedProxy,
  ...over
}: Partial<PageOptions> & { readonly trustedProxy?: string | undefined } = {}) {
  const stack = openStack();
  const clock = handClock('2026-03-10T12:00:00Z');
  const { log, lines } = logLines();
  const folder = await stack.folder();
  for (const name of ['index.html', 'page.js', 'page.css']) await writeFile(join(folder, name), `of ${name}`);
  const documents = new Shelf();
  const logTail = new LogTail();
  const page = createPage({
    version: '1.2.3',
    names: new Set(['pi', 'pi.local', 'heat.example.org']),
    isTrustedProxy: within(trustedProxy),
    isIngress: false,
    readPassword: null,
    documents,
    logTail,
    requests: {
      isKnown: (name) => name === 'refresh',
      answer: async (name, payload) => JSON.stringify({ asked: [name, payload.toString('utf8')] }),
    },
    signIns: createSignIns({
      accounts: [],
      redirectUri: undefined,
      signedIn: () => undefined,
      mask: () => undefined,
      iso: String,
      clock,
      log,
    }),
    energyDashboard: { look: unused, add: unused },
    report: async () => 'a report\n',
    statement: () => null,
    words: (languages) => pageWords(visitorsLanguage('auto', languages)),
    ledger: (meter) => (meter === 'm1' ? 'day\r\n' : null),
    metrics: () => ({ contentType: 'text/plain', text: 'up 1\n' }),
    metricsRefused: () => void log.warn('metrics refused'),
    clock,
    log,
    folder: pathToFileURL(`${folder}/`),
    ...over,
  });
  const server = createServer(page as RequestListener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stack.defer(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  function ask(path: string, { method = 'GET', headers = {}, body }: Asked = {}) {
    return new Promise<{ status: number; headers: IncomingHttpHeaders; text: string }>((resolve, reject) => {
      const request = httpRequest(
        { port, host: '127.0.0.1', path, method, headers, agent: false },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              text: Buffer.concat(chunks).toString('utf8'),
            }),
          );
          response.on('error', reject);
        },
      );
      request.on('error', reject);
      request.end(body);
    });
  }
  const signIn = (password: string, headers: IncomingHttpHeaders = {}) =>
    ask('/session', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ password }),
    });
  return { address: `http://127.0.0.1:${port}`, port, ask, signIn, clock, documents, logTail, lines, stack };
}

/** The cookie of an answer, as the browser sends it back. */
export const cookieOf = ({ headers }: { readonly headers: IncomingHttpHeaders }): string =>
  headers['set-cookie']?.[0]?.split(';')[0] ?? '';

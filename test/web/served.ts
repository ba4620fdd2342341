// The page's server over real HTTP, with documents and requests that a test makes up.

import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type IncomingHttpHeaders, request } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { LogTail } from '../../src/foundation/log.ts';
import type { Document, DocumentSource, Listener } from '../../src/web/events.ts';
import { bodyOf, json, text } from '../../src/web/exchange.ts';
import { createPage, type PageOptions } from '../../src/web/page.ts';
import { type ServerOptions, serveHealth } from '../../src/web/server.ts';
import { within } from '../../src/web/visitor.ts';
import { handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';
import { openStack } from '../support/stack.ts';

export const PASSWORD = 'páss wörd of the page';

/** Documents that a test changes by `set`. */
function createShelf() {
  const documents = new Map<string, string>();
  const readers = new Map<Listener, Set<string>>();
  const follow: DocumentSource = (on) => {
    const due = new Set(documents.keys());
    readers.set(on, due);
    on.broker('none');
    return {
      take() {
        const [topic] = due;
        if (topic === undefined) return null;
        due.delete(topic);
        return [{ topic, payload: documents.get(topic) ?? '' }];
      },
      stop: () => void readers.delete(on),
    };
  };
  return {
    follow,
    get readers(): number {
      return readers.size;
    },
    set(topic: string, payload: string): void {
      documents.set(topic, payload);
      for (const [on, due] of readers) {
        due.add(topic);
        on.changed();
      }
    },
    event(event: Document): void {
      for (const on of readers.keys()) on.event(event);
    },
  };
}

export interface Asked {
  readonly method?: string;
  readonly headers?: IncomingHttpHeaders | undefined;
  readonly body?: string;
}

/** What a path is answered, on a connection of its own. */
export const asking =
  (address: string) =>
  async (path: string, { method = 'GET', headers = {}, body }: Asked = {}) => {
    const { hostname, port } = new URL(address);
    const to = { host: hostname.replace(/[[\]]/g, ''), port, path, method, headers, agent: false };
    const [response] = await once(request(to).end(body), 'response');
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) text += chunk;
    return { status: response.statusCode as number, headers: response.headers as IncomingHttpHeaders, text };
  };

export async function openServer({
  trustedProxy,
  limits = {},
  ...over
}: Partial<PageOptions> &
  Pick<ServerOptions, 'limits'> & { readonly trustedProxy?: string | undefined } = {}) {
  const stack = openStack();
  const clock = handClock('2026-03-10T12:00:00Z');
  const { log, lines } = logLines();
  const folder = await stack.folder();
  for (const name of ['index.html', 'page.js', 'page.css']) await writeFile(join(folder, name), `of ${name}`);
  const documents = createShelf();
  const logTail = new LogTail();
  const page = createPage({
    version: '1.2.3',
    names: new Set(['pi', 'pi.local', 'heat.example.org']),
    isTrustedProxy: within(trustedProxy),
    isIngress: false,
    readPassword: null,
    documents: documents.follow,
    logTail,
    language: 'auto',
    routes: {
      'GET /report.txt': () => text('a report\n'),
      'GET /metrics': () => text('up 1\n'),
      'GET /sign-in': ({ visitor }) => json(visitor.mayTypePasswords),
      'POST /request/:name': async (exchange) => text(`${exchange.name} ${await bodyOf(exchange)}`),
    },
    clock,
    log,
    folder: pathToFileURL(`${folder}/`),
    ...over,
  });
  const answers = {
    healthy: () => true,
    ready: () => true,
    metrics: () => ({ contentType: 'text/plain', text: '' }),
    metricsFor: 'no one',
    metricsRefused: () => undefined,
    page,
  } as const;
  const { port } = stack.use(await serveHealth('127.0.0.1:0', answers, { clock, limits }));
  const address = `http://127.0.0.1:${port}`;
  const ask = asking(address);
  const signIn = (password: string, headers: IncomingHttpHeaders = {}) =>
    ask('/session', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ password }),
    });
  return { address, port, ask, signIn, clock, documents, logTail, lines, stack };
}

/** The cookie of an answer, as the browser sends it back. */
export const cookieOf = ({ headers }: { readonly headers: IncomingHttpHeaders }): string =>
  headers['set-cookie']?.[0]?.split(';')[0] ?? '';

// The page: the table of its routes, who may see each of them, and how a request is answered.
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, OutgoingHttpHeaders, RequestListener } from 'node:http';
import type { Clock } from '../foundation/clock.ts';
import { Failure, safeWords } from '../foundation/failure.ts';
import { ThrottledLog } from '../foundation/limits.ts';
import type { Log, LogTail } from '../foundation/log.ts';
import { type Language, pageWords, visitorsLanguage } from '../publication/language.ts';
import { createStreams, type DocumentSource } from './events.ts';
import { type Handler, json, type Reply, type Routes, refuse, TOO_LARGE, text } from './exchange.ts';
import { createGate } from './sessions.ts';
import { Unchanging } from './unchanging.ts';
import { type Entrance, refusalOf, visitorFrom } from './visitor.ts';

export interface PageOptions extends Entrance {
  readonly version: string;
  readonly documents: DocumentSource;
  readonly logTail: LogTail;
  readonly language: Language | 'auto';
  /** Further routes for those who are signed in. */
  readonly routes: Routes;
  readonly clock: Clock;
  readonly log: Log;
  /** The folder of the page's files: beside that of the bundle's chunks. */
  readonly folder?: URL;
}

const NAMED = /^(\/request|\/sign-in)\/[^/]+/;
const PAGE_ALLOWS =
  "script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'";

/** A listener for Node's server. */
export function createPage(options: PageOptions): RequestListener {
  const { language, isIngress, clock, log } = options;
  const gate = createGate(options);
  const throttledLog = new ThrottledLog(clock, log);
  const forEveryone: Routes = { ...filesOf(options.folder), ...gate.routes };
  const forSignedIn: Routes = { 'GET /events': streamOf(options, gate), ...options.routes };

  async function answer(request: IncomingMessage): Promise<Reply> {
    const visitor = visitorFrom(request, options);
    const refusal = refusalOf(request, visitor, options);
    if (refusal !== null) return { ...text(`${refusal[1]}\n`), status: refusal[0] };
    const [path = '', query] = (request.url ?? '').split('?');
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const route = `${method} ${path.replace(NAMED, '$1/:name')}`;
    if (!forEveryone[route] && !(await gate.isOpen(request)))
      return refuse(401, 'sign_in', 'Sign in with the password of the page.');
    const handler = forEveryone[route] ?? forSignedIn[route];
    if (handler === undefined) return refuse(404, 'not_found', 'There is nothing here.');
    try {
      return await handler({
        request,
        visitor,
        language: visitorsLanguage(language, request.headers['accept-language'] ?? ''),
        name: path.split('/')[2] ?? '',
        query: new URLSearchParams(query),
      });
    } catch (err) {
      if (err instanceof Failure) return json({ error: safeWords(err) }, err.code === TOO_LARGE ? 413 : 422);
      // A visitor who breaks off in the middle of a body is no fault.
      if (request.complete || !request.destroyed)
        throttledLog.write('error', route, { err, route }, 'the page could not be served');
      return json({ error: safeWords(err) }, 500);
    }
  }

  return async (request, response) => {
    const { status = 200, headers, allows, body, stream } = await answer(request);
    response.writeHead(status, { ...guardingHeaders(isIngress, allows), ...headers });
    if (stream === undefined || request.method === 'HEAD') return void response.end(body);
    await stream(response).catch((err) => log.error({ err }, 'a stream of the page has failed'));
  };
}

const guardingHeaders = (isIngress: boolean, allows = PAGE_ALLOWS): OutgoingHttpHeaders => ({
  'content-security-policy': `default-src 'none'; ${allows}; base-uri 'none'; frame-ancestors ${isIngress ? "'self'" : "'none'"}`,
  'x-frame-options': isIngress ? 'SAMEORIGIN' : 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  'cache-control': 'no-store',
});

function filesOf(folder = new URL('../page/', import.meta.url)): Routes {
  const unchanging = new Unchanging();
  const file =
    (name: string, type: string): Handler =>
    ({ request }) =>
      unchanging.send(request, name, type, () => readFile(new URL(name, folder), 'utf8'));
  return {
    'GET /': file('index.html', 'text/html'),
    'GET /page.js': file('page.js', 'text/javascript'),
    'GET /page.css': file('page.css', 'text/css'),
    'GET /words': ({ request, language }) => {
      const read = () => JSON.stringify(pageWords(language));
      return unchanging.send(request, language, 'application/json', read);
    },
  };
}

function streamOf({ documents, logTail, clock }: PageOptions, gate: ReturnType<typeof createGate>): Handler {
  const serve = createStreams(documents, logTail, clock);
  return ({ request }) => ({
    headers: { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' },
    stream: (response) => serve(response, () => gate.isOpen(request), gate.ending(request)),
  });
}

// The page: the table of its routes, who may see each of them, and how a request is answered.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, OutgoingHttpHeaders, RequestListener, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, Failure, failure, safeWords } from '../foundation/failure.ts';
import { ThrottledLog } from '../foundation/limits.ts';
import type { Log, LogTail } from '../foundation/log.ts';
import { type Language, pageWords, visitorsLanguage } from '../publication/language.ts';
import { createStreams, type DocumentSource } from './events.ts';
import type { Session } from './page/answers.ts';
import { createSessions, type Entrance, refusalOf, type Visitor, visitorFrom } from './visitor.ts';

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

export interface Exchange {
  readonly request: IncomingMessage;
  readonly visitor: Visitor;
  readonly language: Language;
  /** The part of the path that the route calls `:name`. */
  readonly name: string;
  readonly query: URLSearchParams;
}

export interface Reply {
  readonly status?: number;
  readonly headers?: OutgoingHttpHeaders;
  /** Directives of the content security policy, in place of those of the page. */
  readonly allows?: string;
  readonly body?: string | Uint8Array;
  /** Writes the body in place of that, and ends it. */
  readonly stream?: (response: ServerResponse) => Promise<void>;
}

/** What it throws as a Failure is told, anything else is logged. */
export type Handler = (exchange: Exchange) => Reply | Promise<Reply>;
/** The keys are method and path, in which `:name` stands for any name. */
export type Routes = Readonly<Record<string, Handler>>;

const NAMED = /^(\/request|\/sign-in)\/[^/]+/;
const COOKIE = 'heat2mqtt_session';
const LARGEST_BODY_BYTES = 16_384;
const TOO_LARGE = 'too_large';

export const json = (value: unknown, status = 200, headers: OutgoingHttpHeaders = {}): Reply => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(value),
});
export const refuse = (status: number, code: string, message: string, headers?: OutgoingHttpHeaders): Reply =>
  json({ error: { code, message } }, status, headers);
export const text = (body: string, type = 'text/plain', headers: OutgoingHttpHeaders = {}): Reply => ({
  headers: { 'content-type': `${type}; charset=utf-8`, ...headers },
  body,
});
export const download = (name: string, body: string, type: string): Reply =>
  text(body, type, { 'content-disposition': `attachment; filename="${name}"` });

const PAGE_ALLOWS =
  "script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'";

/** Rejects with too_large, after the whole body has been taken: a visitor who still sends hears no answer. */
export async function bodyOf({ request }: Exchange): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes <= LARGEST_BODY_BYTES) chunks.push(chunk);
  }
  if (bytes <= LARGEST_BODY_BYTES) return Buffer.concat(chunks);
  const message = `At most ${LARGEST_BODY_BYTES} bytes are allowed.`;
  throw failure(TOO_LARGE, message, { exit: EXIT.usage, retry: 'never' });
}

/** The texts of a JSON object; nothing of anything else. */
export async function fieldsOf(exchange: Exchange): Promise<Readonly<Record<string, string | undefined>>> {
  const body = await bodyOf(exchange);
  try {
    const fields = Object.entries(JSON.parse(body.toString('utf8')) ?? {});
    return Object.fromEntries(
      fields.filter((field): field is [string, string] => typeof field[1] === 'string'),
    );
  } catch {
    return {};
  }
}

const tokenOf = ({ headers }: IncomingMessage): string | undefined =>
  new RegExp(`(?:^|; *)${COOKIE}=([\\w-]+)`).exec(headers.cookie ?? '')?.[1];

const packed = async (body: string) => ({
  body,
  zipped: await promisify(gzip)(body),
  etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`,
});

/** A listener for Node's server. */
export function createPage(options: PageOptions): RequestListener {
  const page = new Page(options);
  return (request, response) => page.serve(request, response);
}

class Page {
  readonly #options: PageOptions;
  readonly #folder: URL;
  readonly #sessions: ReturnType<typeof createSessions> | null;
  readonly #serveStream: ReturnType<typeof createStreams>;
  readonly #throttledLog: ThrottledLog;
  /** Bodies that stay the same while the program runs, by name. */
  readonly #unchanging = new Map<string, Awaited<ReturnType<typeof packed>>>();
  readonly #forEveryone: Routes;
  readonly #forSignedIn: Routes;

  constructor(options: PageOptions) {
    const { documents, logTail, clock, readPassword } = options;
    this.#options = options;
    this.#folder = options.folder ?? new URL('../page/', import.meta.url);
    this.#sessions = readPassword && createSessions(readPassword, clock);
    this.#serveStream = createStreams(documents, logTail, clock);
    this.#throttledLog = new ThrottledLog(clock);
    this.#forEveryone = {
      'GET /': this.#file('index.html', 'text/html'),
      'GET /page.js': this.#file('page.js', 'text/javascript'),
      'GET /page.css': this.#file('page.css', 'text/css'),
      'GET /words': ({ request, language }) => {
        const read = () => JSON.stringify(pageWords(language));
        return this.#sendOnce(request, language, 'application/json', read);
      },
      'GET /session': async (exchange) => json(await this.#sessionOf(exchange)),
      'POST /session': (exchange) => this.#openSession(exchange),
      'DELETE /session': (exchange) => this.#endSession(exchange),
    };
    this.#forSignedIn = { 'GET /events': (exchange) => this.#follow(exchange), ...options.routes };
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status = 200, headers, allows, body, stream } = await this.#answer(request);
    response.writeHead(status, { ...this.#headersWith(allows), ...headers });
    if (stream === undefined || request.method === 'HEAD') return void response.end(body);
    await stream(response).catch((err) =>
      this.#options.log.error({ err }, 'a stream of the page has failed'),
    );
  }

  async #isSignedIn(request: IncomingMessage): Promise<boolean> {
    return this.#sessions?.isOpen(tokenOf(request)) ?? true;
  }

  #file(name: string, type: string): Handler {
    const read = () => readFile(new URL(name, this.#folder), 'utf8');
    return ({ request }) => this.#sendOnce(request, name, type, read);
  }

  #headersWith(allows = PAGE_ALLOWS): OutgoingHttpHeaders {
    const { isIngress } = this.#options;
    return {
      'content-security-policy': `default-src 'none'; ${allows}; base-uri 'none'; frame-ancestors ${isIngress ? "'self'" : "'none'"}`,
      'x-frame-options': isIngress ? 'SAMEORIGIN' : 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
      'origin-agent-cluster': '?1',
      'cache-control': 'no-store',
    };
  }

  async #sessionOf({ request }: Exchange): Promise<Session> {
    return {
      version: this.#options.version,
      signedIn: await this.#isSignedIn(request),
      needsPassword: this.#sessions !== null,
    };
  }

  /** A browser that has it is not sent it again. */
  async #sendOnce(
    { headers }: IncomingMessage,
    name: string,
    type: string,
    read: () => string | Promise<string>,
  ): Promise<Reply> {
    const unchanged = this.#unchanging.get(name) ?? (await packed(await read()));
    this.#unchanging.set(name, unchanged);
    const { body, zipped, etag } = unchanged;
    const lasting = { etag, 'cache-control': 'no-cache', vary: 'accept-encoding, accept-language' };
    if (headers['if-none-match'] === etag) return { status: 304, headers: lasting };
    const sent = { ...lasting, 'content-type': `${type}; charset=utf-8` };
    if (!/\bgzip\b/.test(String(headers['accept-encoding'] ?? ''))) return { headers: sent, body };
    return { headers: { ...sent, 'content-encoding': 'gzip' }, body: zipped };
  }

  async #openSession(exchange: Exchange): Promise<Reply> {
    const { password } = await fieldsOf(exchange);
    if (password === undefined) return refuse(400, 'request_malformed', 'A password is missing.');
    const opened: Session = { ...(await this.#sessionOf(exchange)), signedIn: true };
    if (this.#sessions === null) return json(opened);
    const { address, isEncrypted } = exchange.visitor;
    const outcome = await this.#sessions.signIn(password, address).catch((err: unknown) => {
      this.#options.log.error({ err }, 'the password of the page cannot be read');
      return null;
    });
    if (outcome === null)
      return refuse(503, 'password_unreadable', 'The bridge cannot read the password. Its log says why.');
    if ('token' in outcome) {
      const cookie = `${COOKIE}=${outcome.token}; Path=/; HttpOnly; SameSite=Strict`;
      return json(opened, 200, { 'set-cookie': isEncrypted ? `${cookie}; Secure` : cookie });
    }
    const seconds = Math.ceil(outcome.waitMs / 1000);
    const later = { 'retry-after': String(seconds) };
    return outcome.isWrong
      ? refuse(401, 'wrong_password', `That is not the password. Try again in ${seconds} s.`, later)
      : refuse(429, 'too_many_attempts', `Try again in ${seconds} s.`, later);
  }

  #endSession({ request }: Exchange): Reply {
    this.#sessions?.end(tokenOf(request));
    return { status: 204, headers: { 'set-cookie': `${COOKIE}=; Max-Age=0; Path=/` } };
  }

  #follow({ request }: Exchange): Reply {
    const mayStay = () => this.#isSignedIn(request);
    return {
      headers: { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' },
      stream: (response) => this.#serveStream(response, mayStay, this.#sessions?.ending(tokenOf(request))),
    };
  }

  async #answer(request: IncomingMessage): Promise<Reply> {
    const visitor = visitorFrom(request, this.#options);
    const refusal = refusalOf(request, visitor, this.#options);
    if (refusal !== null) return { ...text(`${refusal[1]}\n`), status: refusal[0] };
    const [path = '', query] = (request.url ?? '').split('?');
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const route = `${method} ${path.replace(NAMED, '$1/:name')}`;
    if (!this.#forEveryone[route] && !(await this.#isSignedIn(request)))
      return refuse(401, 'sign_in', 'Sign in with the password of the page.');
    const handler = this.#forEveryone[route] ?? this.#forSignedIn[route];
    if (handler === undefined) return refuse(404, 'not_found', 'There is nothing here.');
    const exchange: Exchange = {
      request,
      visitor,
      language: visitorsLanguage(this.#options.language, request.headers['accept-language'] ?? ''),
      name: path.split('/')[2] ?? '',
      query: new URLSearchParams(query),
    };
    try {
      return await handler(exchange);
    } catch (err) {
      if (err instanceof Failure) return json({ error: safeWords(err) }, err.code === TOO_LARGE ? 413 : 422);
      // A visitor who breaks off in the middle of a body is no fault.
      if (request.complete || !request.destroyed)
        this.#throttledLog.write(route, (more) =>
          this.#options.log.error({ err, route, ...more }, 'the page could not be served'),
        );
      return json({ error: safeWords(err) }, 500);
    }
  }
}

// The page: the table of its routes, and who may see each of them.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Clock } from '../foundation/clock.ts';
import { Failure, safeWords } from '../foundation/failure.ts';
import { ThrottledLog } from '../foundation/limits.ts';
import type { Log, LogTail } from '../foundation/log.ts';
import type { PageWords } from '../publication/language.ts';
import { createStreams, type DocumentSource } from './events.ts';
import {
  bodyOf,
  download,
  type Exchange,
  fieldsOf,
  fileOf,
  findRoute,
  type Handler,
  json,
  type Reply,
  type Route,
  refuse,
  TOO_LARGE,
  text,
  unchanging,
} from './exchange.ts';
import { createSessions } from './sessions.ts';
import type { SignIns } from './signIn.ts';
import { type Entrance, refusalOf, visitorFrom } from './visitor.ts';

/** What rejects does so with a Failure. */
export interface EnergyDashboardSource {
  /** What is to be added to it, with a `digest`. */
  look(): Promise<object>;
  /** Unless it is no longer what the digest was made of. */
  add(digest: string): Promise<unknown>;
}

export interface PageOptions extends Entrance {
  readonly version: string;
  readonly documents: DocumentSource;
  readonly logTail: LogTail;
  readonly requests: {
    isKnown(name: string): boolean;
    /** As JSON. Never rejects. */
    answer(name: string, payload: Buffer): Promise<string>;
  };
  readonly signIns: SignIns;
  /** `null`: Home Assistant is not configured. */
  readonly energyDashboard: EnergyDashboardSource | null;
  readonly report: () => Promise<string>;
  /** As CSV; `null`: there is no such meter. */
  readonly ledger: (meter: string) => string | null;
  /**
   * A page of its own, in the language of the visitor, and the hash of its style as a content security policy has it. Rejects with a
   * Failure for a month that there is not. `null`: there is no such meter.
   */
  readonly statement: (asked: {
    meter: string | null;
    month: string | undefined;
    languages: string;
  }) => { page: string; style: string } | null;
  /** The words of the page in one language. `languages`: the visitor's, as an `Accept-Language` header. */
  readonly words: (languages: string) => PageWords;
  readonly metrics: () => { readonly contentType: string; readonly text: string };
  readonly metricsRefused: () => void;
  readonly clock: Clock;
  readonly log: Log;
  /** Where the files of the page are. */
  readonly folder?: URL;
}

const COOKIE = 'heat2mqtt_session';
const tokenOf = ({ headers }: IncomingMessage): string | undefined =>
  new RegExp(`(?:^|; *)${COOKIE}=([\\w-]+)`).exec(headers.cookie ?? '')?.[1];

const NOT_FOUND = refuse(404, 'not_found', 'There is nothing here.');

/** The pages that may show this one in a frame. */
const frameOf = ({ isIngress }: Pick<PageOptions, 'isIngress'>): string => (isIngress ? "'self'" : "'none'");

function securityHeaders(isIngress: boolean): Readonly<Record<string, string>> {
  return {
    'content-security-policy': `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors ${frameOf({ isIngress })}`,
    'x-frame-options': isIngress ? 'SAMEORIGIN' : 'DENY',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-resource-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
    'origin-agent-cluster': '?1',
    'cache-control': 'no-store',
  };
}

/** A listener for Node's server. */
export function createPage(options: PageOptions): RequestListener {
  const { log, clock, requests, signIns, energyDashboard, folder } = options;
  const headers = securityHeaders(options.isIngress);
  const sessions = options.readPassword && createSessions(options.readPassword, clock);
  const serveStream = createStreams(options.documents, options.logTail, clock);
  const throttledLog = new ThrottledLog(clock);
  const isSignedIn = async (request: IncomingMessage) => sessions?.isOpen(tokenOf(request)) ?? true;

  const routes: readonly Route[] = [
    ['GET', '/', 'everyone', fileOf('index.html', 'text/html', folder)],
    ['GET', '/page.js', 'everyone', fileOf('page.js', 'text/javascript', folder)],
    ['GET', '/page.css', 'everyone', fileOf('page.css', 'text/css', folder)],
    ['GET', '/words', 'everyone', words],
    ['GET', '/session', 'everyone', async (exchange) => json(await sessionOf(exchange))],
    ['POST', '/session', 'everyone', openSession],
    ['DELETE', '/session', 'everyone', endSession],
    ['GET', '/events', 'signed in', follow],
    ['POST', '/request/:name', 'signed in', ask],
    ['GET', '/metrics', 'signed in', metrics],
    ['GET', '/ledger.csv', 'signed in', ledger],
    ['GET', '/statement', 'signed in', statement],
    ['GET', '/report.txt', 'signed in', report],
    ['GET', '/energy-dashboard', 'signed in', lookAtEnergyDashboard],
    ['POST', '/energy-dashboard', 'signed in', addToEnergyDashboard],
    ['GET', '/sign-in', 'signed in', signIns.waiting],
    ['POST', '/sign-in/:account/password', 'signed in', signIns.typePassword],
    ['POST', '/sign-in/:account/device', 'signed in', signIns.beginDevice],
    ['DELETE', '/sign-in/:account/device', 'signed in', signIns.endDevice],
    ['POST', '/sign-in/:account/link', 'signed in', signIns.goByLink],
  ];

  const sessionOf = async ({ request, visitor }: Exchange) => ({
    version: options.version,
    signedIn: await isSignedIn(request),
    needsPassword: sessions !== null,
    mayTypePasswords: visitor.mayTypePasswords,
  });

  const wordHandlers = new Map<string, Handler>();

  function words(exchange: Exchange) {
    const told = options.words(exchange.request.headers['accept-language'] ?? '');
    const handler =
      wordHandlers.get(told.language) ??
      unchanging('application/json', async () => Buffer.from(JSON.stringify(told)), ', accept-language');
    wordHandlers.set(told.language, handler);
    return handler(exchange);
  }

  async function openSession(exchange: Exchange): Promise<Reply> {
    const { password } = await fieldsOf(exchange);
    if (password === undefined) return refuse(400, 'request_malformed', 'A password is missing.');
    const opened = { ...(await sessionOf(exchange)), signedIn: true };
    if (sessions === null) return json(opened);
    const { address, isEncrypted } = exchange.visitor;
    const outcome = await sessions.signIn(password, address).catch((err: unknown) => {
      log.error({ err }, 'the password of the page cannot be read');
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

  function endSession({ request }: Exchange): Reply {
    sessions?.end(tokenOf(request));
    return { status: 204, headers: { 'set-cookie': `${COOKIE}=; Max-Age=0; Path=/` } };
  }

  function follow({ request, response }: Exchange): Reply | null {
    const stream = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' };
    if (request.method === 'HEAD') return { headers: stream };
    response.writeHead(200, { ...headers, ...stream });
    void serveStream(response, () => isSignedIn(request), sessions?.ending(tokenOf(request)))
      .catch((err) => log.error({ err }, 'a stream of the page has failed'))
      .finally(() => response.destroy());
    return null;
  }

  async function ask(exchange: Exchange): Promise<Reply> {
    const body = await requests.answer(exchange.named, await bodyOf(exchange));
    const status = requests.isKnown(exchange.named) ? 200 : 404;
    return { status, headers: { 'content-type': 'application/json' }, body };
  }

  function metrics(): Reply {
    const { contentType, text: body } = options.metrics();
    return { headers: { 'content-type': contentType }, body };
  }

  function ledger({ query }: Exchange): Reply {
    const meter = query.get('meter') ?? '';
    const csv = options.ledger(meter);
    if (csv === null) return refuse(404, 'unknown_meter', 'There is no such meter.');
    return download(`heat2mqtt-${meter}.csv`, csv, 'text/csv');
  }

  function statement({ query, request }: Exchange): Reply {
    const languages = request.headers['accept-language'] ?? '';
    const found = options.statement({
      meter: query.get('meter'),
      month: query.get('month') ?? undefined,
      languages,
    });
    if (found === null) return refuse(404, 'unknown_meter', 'There is no such meter.');
    const policy = `default-src 'none'; style-src '${found.style}'; base-uri 'none'; form-action 'none'; frame-ancestors ${frameOf(options)}`;
    return {
      headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy },
      body: found.page,
    };
  }

  async function report(): Promise<Reply> {
    return download('heat2mqtt-report.txt', await options.report(), 'text/plain');
  }

  async function lookAtEnergyDashboard(): Promise<Reply> {
    return energyDashboard === null ? NOT_FOUND : json(await energyDashboard.look());
  }

  async function addToEnergyDashboard(exchange: Exchange): Promise<Reply> {
    if (energyDashboard === null) return NOT_FOUND;
    const { digest } = await fieldsOf(exchange);
    if (digest === undefined) return refuse(400, 'request_malformed', 'The digest is missing.');
    await energyDashboard.add(digest);
    return json({ state: 'done' });
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<Reply | null> {
    const visitor = visitorFrom(request, options);
    const refusal = refusalOf(request, visitor, options);
    if (refusal !== null) return { ...text(`${refusal.message}\n`), status: refusal.status };
    const [path = '', query = ''] = (request.url ?? '').split('?');
    const route = findRoute(routes, request.method, path);
    if (route?.who !== 'everyone' && !(await isSignedIn(request))) {
      if (path === '/metrics') options.metricsRefused();
      return refuse(401, 'sign_in', 'Sign in with the password of the page.');
    }
    if (route === null) return NOT_FOUND;
    try {
      const { named, handler } = route;
      return await handler({ request, response, visitor, named, query: new URLSearchParams(query) });
    } catch (err) {
      if (err instanceof Failure) return json({ error: safeWords(err) }, err.code === TOO_LARGE ? 413 : 422);
      const { pattern } = route;
      // A visitor who breaks off in the middle of a body is no fault.
      if (request.complete || !request.destroyed)
        throttledLog.write(pattern, (more) =>
          log.error({ err, path: pattern, ...more }, 'the page could not be served'),
        );
      return json({ error: safeWords(err) }, 500);
    }
  }

  return async (request, response) => {
    const reply = await answer(request, response);
    if (reply === null) return;
    response.writeHead(reply.status ?? 200, { ...headers, ...reply.headers });
    response.end(reply.body);
  };
}

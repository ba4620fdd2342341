// The page: its files, its session, what it follows and what it asks for. Every path but those of the files is for whoever may see it.
import { getRequestListener } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { secureHeaders } from 'hono/secure-headers';
import { Hono } from 'hono/tiny';
import type { Clock } from '../foundation/clock.ts';
import { Failure, safeWords } from '../foundation/failure.ts';
import { ThrottledLog } from '../foundation/limits.ts';
import type { Log, LogTail } from '../foundation/log.ts';
import { type DocumentSource, EventStreams } from './events.ts';
import { bodyOf, type Env, type Exchange, fieldsOf, refuse, TooLarge } from './exchange.ts';
import { BUNDLED, Files, type PageFile } from './files.ts';
import { Sessions } from './sessions.ts';
import type { SignIns } from './signIn.ts';
import { type Entrance, refusalOf, visitorFrom } from './visitor.ts';

/** What rejects does so with a Failure. */
export interface EnergyDashboardSource {
  /** What is to be added to it. */
  look(): Promise<{
    readonly added: readonly {
      readonly name: string | null;
      readonly energy: string | null;
      readonly cost: string | null;
    }[];
    readonly refusals: readonly string[];
    readonly cautions: readonly string[];
    readonly digest: string;
  }>;
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
  readonly ledger: (meter: string) => string | null | Promise<string | null>;
  readonly metrics: () => { readonly contentType: string; readonly text: string };
  readonly metricsRefused: () => void;
  readonly clock: Clock;
  readonly log: Log;
  /** Where the files of the page are. */
  readonly folder?: URL;
}

const COOKIE = 'heat2mqtt_session';
const FILES: Readonly<Record<string, PageFile>> = {
  '/': 'index.html',
  '/page.js': 'page.js',
  '/page.css': 'page.css',
};

const download = (c: Exchange, name: string, type: string, text: string) =>
  c.body(text, 200, {
    'content-type': `${type}; charset=utf-8`,
    'content-disposition': `attachment; filename="${name}"`,
  });

/** A listener for Node's server. */
export function createPage(options: PageOptions) {
  const { log, clock, requests, isIngress } = options;
  const files = new Files(options.folder ?? BUNDLED);
  const sessions = options.readPassword && new Sessions(options.readPassword, clock);
  const streams = new EventStreams(options.documents, options.logTail, clock);
  const throttledLog = new ThrottledLog(clock);
  const app = new Hono<Env>();
  const isSignedIn = (c: Exchange) => sessions?.isOpen(getCookie(c, COOKIE)) ?? true;

  app.use(
    secureHeaders({
      contentSecurityPolicy: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'"],
        imgSrc: ["'self'", 'data:'],
        connectSrc: ["'self'"],
        formAction: ["'self'"],
        baseUri: ["'none'"],
        frameAncestors: [isIngress ? "'self'" : "'none'"],
      },
      xFrameOptions: isIngress ? 'SAMEORIGIN' : 'DENY',
      // Whether there is TLS is for a proxy to say.
      strictTransportSecurity: false,
    }),
  );
  app.use(async (c, next) => {
    const { incoming } = c.env;
    const visitor = visitorFrom(incoming, options);
    const refusal = refusalOf(incoming, visitor, options);
    if (refusal !== null) return c.text(`${refusal.message}\n`, refusal.status);
    c.set('visitor', visitor);
    c.header('cache-control', 'no-store');
    return next();
  });
  for (const [path, name] of Object.entries(FILES))
    app.get(path, (c) => files.answer(name, c.req.raw.headers));

  const sessionOf = async (c: Exchange) => ({
    version: options.version,
    signedIn: await isSignedIn(c),
    needsPassword: sessions !== null,
    mayTypePasswords: c.get('visitor').mayTypePasswords,
  });
  app.get('/session', async (c) => c.json(await sessionOf(c)));
  app.post('/session', async (c) => {
    const { password } = await fieldsOf(c);
    if (password === undefined) return refuse(c, 400, 'request_malformed', 'A password is missing.');
    const { address, isEncrypted } = c.get('visitor');
    const outcome = await sessions?.signIn(password, address).catch((err: unknown) => {
      log.error({ err }, 'the password of the page cannot be read');
      return 'unreadable' as const;
    });
    if (outcome === 'unreadable')
      return refuse(c, 503, 'password_unreadable', 'The bridge cannot read the password. Its log says why.');
    if (outcome !== undefined && 'waitMs' in outcome) {
      const seconds = Math.ceil(outcome.waitMs / 1000);
      c.header('retry-after', String(seconds));
      return outcome.isWrong
        ? refuse(c, 401, 'wrong_password', `That is not the password. Try again in ${seconds} s.`)
        : refuse(c, 429, 'too_many_attempts', `Try again in ${seconds} s.`);
    }
    if (outcome !== undefined)
      setCookie(c, COOKIE, outcome.token, {
        httpOnly: true,
        sameSite: 'Strict',
        secure: isEncrypted,
        path: '/',
      });
    return c.json({ ...(await sessionOf(c)), signedIn: true });
  });
  app.delete('/session', (c) => {
    sessions?.end(deleteCookie(c, COOKIE, { path: '/' }));
    return c.body(null, 204);
  });

  app.use(async (c, next) => {
    if (await isSignedIn(c)) return next();
    if (c.req.path === '/metrics') options.metricsRefused();
    return refuse(c, 401, 'sign_in', 'Sign in with the password of the page.');
  });
  app.get('/metrics', (c) => {
    const { contentType, text } = options.metrics();
    return c.body(text, 200, { 'content-type': contentType });
  });
  app.get('/events', async (c) => {
    const type = { 'content-type': 'text/event-stream; charset=utf-8' };
    if (c.req.method === 'HEAD') return c.body(null, 200, type);
    const { outgoing } = c.env;
    outgoing.writeHead(200, {
      ...type,
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
    });
    void streams
      .serve(outgoing, async () => isSignedIn(c), sessions?.ending(getCookie(c, COOKIE)))
      .catch((err) => log.error({ err }, 'a stream of the page has failed'))
      .finally(() => outgoing.destroy());
    return RESPONSE_ALREADY_SENT;
  });
  app.post('/request/:name', async (c) => {
    const name = c.req.param('name');
    const answer = await requests.answer(name, await bodyOf(c));
    return c.body(answer, requests.isKnown(name) ? 200 : 404, { 'content-type': 'application/json' });
  });
  app.get('/ledger.csv', async (c) => {
    const meter = c.req.query('meter') ?? '';
    const csv = await options.ledger(meter);
    if (csv === null) return refuse(c, 404, 'unknown_meter', 'There is no such meter.');
    return download(c, `heat2mqtt-${meter}.csv`, 'text/csv', csv);
  });
  app.get('/report.txt', async (c) =>
    download(c, 'heat2mqtt-report.txt', 'text/plain', await options.report()),
  );
  const { energyDashboard } = options;
  if (energyDashboard !== null) {
    app.get('/energy-dashboard', async (c) => c.json(await energyDashboard.look()));
    app.post('/energy-dashboard', async (c) => {
      const { digest } = await fieldsOf(c);
      if (digest === undefined) return refuse(c, 400, 'request_malformed', 'The digest is missing.');
      await energyDashboard.add(digest);
      return c.json({ state: 'done' });
    });
  }
  app.route('/sign-in', options.signIns.routes());
  app.notFound((c) => refuse(c, 404, 'not_found', 'There is nothing here.'));
  app.onError((err, c) => {
    const path = c.req.routePath;
    const { complete, destroyed } = c.env.incoming;
    // Who breaks off in the middle of a body is told nothing, and nor is the log.
    if (!(err instanceof Failure) && (complete || !destroyed))
      throttledLog.write(path, (more) => log.error({ err, path, ...more }, 'the page could not be served'));
    const status = err instanceof TooLarge ? 413 : err instanceof Failure ? 422 : 500;
    return c.json({ error: safeWords(err) }, status);
  });
  return getRequestListener(app.fetch, { overrideGlobalObjects: false });
}

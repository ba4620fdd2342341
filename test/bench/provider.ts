// A provider that costs next to nothing, in a process of its own: any number of accounts, replies written once, requests counted.
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

// What is asked: `GET /counts` gives and clears the counts by route, `GET /book` tells the readings of one more day, `GET /life` lets
// further tokens live for a day; account `n` is `user<n>` with property `5<n>`.
const DAY_MS = 86_400_000;
const FIRST_DAY = Date.UTC(2004, 0, 1);
const {
  WAIT_MS = '0',
  SLOW_PROPERTY,
  SLOW_MS = '2000',
  TOKEN_SECONDS = '3600',
  NEWEST_DAYS_AGO = '1',
} = process.env;
let newestDaysAgo = Number(NEWEST_DAYS_AGO);
let tokenSeconds = Number(TOKEN_SECONDS);
let counts: Record<string, number> = {};
let inFlight = 0;
let mostInFlight = 0;
let firstUsageAt = 0;
let lastUsageAt = 0;
const reports = new Map<string, string>();
const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

const server = createServer((request, response) => {
  const isCounted = !['/peek', '/counts', '/book', '/life'].includes(request.url ?? '');
  if (isCounted) inFlight += 1;
  mostInFlight = Math.max(mostInFlight, inFlight);
  void answer(request).then(({ status = 200, body, waitMs = isCounted ? Number(WAIT_MS) : 0 }) => {
    const reply = () => {
      if (isCounted) inFlight -= 1;
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(body);
    };
    if (waitMs > 0) setTimeout(reply, waitMs);
    else reply();
  });
});
server.keepAliveTimeout = 120_000;
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('disconnect', () => process.exit());

interface Answer {
  readonly status?: number;
  readonly body: string;
  readonly waitMs?: number;
}

async function answer(request: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const url = new URL(request.url ?? '/', `http://${request.headers.host}`);
  if (url.pathname === '/peek') return { body: JSON.stringify({ counts }) };
  if (url.pathname === '/book') {
    newestDaysAgo -= 1;
    reports.clear();
    return { body: '{}' };
  }
  if (url.pathname === '/life') {
    tokenSeconds = DAY_MS / 1000;
    return { body: '{}' };
  }
  if (url.pathname === '/counts') {
    const told = JSON.stringify({ counts, mostInFlight, firstUsageAt, lastUsageAt });
    firstUsageAt = 0;
    counts = {};
    mostInFlight = 0;
    return { body: told };
  }
  return route(url, Buffer.concat(chunks).toString());
}

function route(url: URL, text: string): Answer {
  const { pathname, origin } = url;
  const count = (name: string) => {
    counts[name] = (counts[name] ?? 0) + 1;
  };
  const issuer = `${origin}/realms/bench`;
  if (pathname.endsWith('/.well-known/openid-configuration')) {
    count('openid');
    return { body: JSON.stringify({ issuer, token_endpoint: `${issuer}/token` }) };
  }
  if (pathname.endsWith('/token')) return { body: tokens(new URLSearchParams(text), count) };
  if (pathname.endsWith('/reports/usage')) {
    count('usage');
    lastUsageAt = performance.now();
    firstUsageAt ||= lastUsageAt;
    return usage(text);
  }
  if (url.searchParams.has('parent-group')) {
    count('discovery');
    return { body: properties(url.searchParams.get('parent-group') ?? '') };
  }
  const [, code] = /\/customers\/([^/]+)(\/groups)?$/.exec(pathname) ?? [];
  if (code === undefined) return { status: 404, body: '{}' };
  count('discovery');
  if (pathname.endsWith('/groups'))
    return { body: JSON.stringify({ objects: [{ id: code, type: 'payment' }], total_num: 1 }) };
  return { body: JSON.stringify({ id: code }) };
}

function tokens(form: URLSearchParams, count: (name: string) => void): string {
  const isLogin = form.get('grant_type') === 'password';
  count(isLogin ? 'logins' : 'refreshes');
  const user = isLogin ? form.get('username') : form.get('refresh_token')?.split('.')[1];
  const customer = user?.replace(/\D/g, '') ?? '0';
  const claims = { sub: user, customer_code: customer, sites: ['/bench'], jti: counts.refreshes ?? 0 };
  return JSON.stringify({
    token_type: 'Bearer',
    access_token: `eyJhbGciOiJub25lIn0.${part(claims)}.${'x'.repeat(340)}`,
    expires_in: tokenSeconds,
    refresh_token: `eyJhbGciOiJub25lIn1.${user}.${'y'.repeat(200)}`,
    refresh_expires_in: 100 * tokenSeconds,
  });
}

function properties(customer: string): string {
  const services = [
    { id: `7${customer}`, identifier: `M${customer}`, service_type: 'HEAT_METER_READ_SERVICE' },
  ];
  const subscriptions = [
    { id: `6${customer}`, status: 'active', balance_group: { id: `8${customer}` }, services },
  ];
  return JSON.stringify({ objects: [{ id: `5${customer}`, subscriptions }], total_num: 1 });
}

/** The same amounts for everybody, so that one text serves thousands. */
function usage(text: string): Answer {
  const [, gte = '', lte = ''] = /"gte":"([^"]+)","lte":"([^"]+)"/.exec(text) ?? [];
  const isSlow = SLOW_PROPERTY !== undefined && text.includes(`"${SLOW_PROPERTY}"`);
  const waitMs = Number(isSlow ? SLOW_MS : WAIT_MS);
  const known = reports.get(gte + lte);
  if (known !== undefined) return { body: known, waitMs };
  const keys: number[] = [];
  const last = Math.min(Date.parse(lte), Date.now() - newestDaysAgo * DAY_MS);
  for (let at = Math.max(Date.parse(gte), FIRST_DAY); at <= last; at += DAY_MS) keys.push(at);
  const buckets = (amount: (day: number) => number) =>
    keys.map((key) => {
      const value = amount(Math.round(key / DAY_MS));
      return {
        key,
        key_as_string: new Date(key).toISOString(),
        doc_count: 1,
        documents: { doc_count: 1, amount: { value }, quantity: { value } },
      };
    });
  const resource = (key: string, amount: (day: number) => number) => ({
    key,
    doc_count: keys.length,
    readings: { doc_count: keys.length, intervals: { buckets: buckets(amount) } },
  });
  const body = JSON.stringify({
    took: 1,
    timed_out: false,
    _shards: { total: 1, successful: 1, failed: 0 },
    aggregations: {
      resources: {
        buckets: [
          resource('Heat - Meter Value', (day) => 5 + (day % 17)),
          resource('Euro', (day) => 1 + (day % 17) / 4),
        ],
      },
    },
  });
  reports.set(gte + lte, body);
  return { body, waitMs };
}

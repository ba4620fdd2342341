// Every text of an error that issuer and API may give quotes a person: log at trace, topics, page, metrics, check and report hold none of
// it, and say in our own words what went wrong. Broker, Home Assistant and PostgreSQL have theirs beside their walls.
import { createServer as createPlainServer } from 'node:net';
import { expect, test } from 'vitest';
import type { Fault } from '../../src/simulator/switches.ts';
import { idTokenWith } from '../auth/account.ts';
import { openAuthority } from '../support/authority.ts';
import { about, CANARY } from '../support/canaries.ts';
import { oauth } from '../support/faults.ts';
import { ME } from '../support/homes.ts';
import { listening } from '../support/listening.ts';
import { untilAtRest } from '../support/rest.ts';
import type { Stack } from '../support/stack.ts';
import { openStory, type Story } from '../support/story.ts';
import { startTlsEnd } from '../support/tlsEnd.ts';
import { openStream } from '../web/stream.ts';

/** Of a person too, in what has room for no other characters. */
const HOST = 'orla-canarywood.kanarienvogel-lane.example.org';
const NUMBER = '4711083599';
const QUOTED = `${about(ME)}, ${NUMBER}`;
const PERSONAL = /canary|kanarienvogel|4711083599/i;
/** The names of tests and of our own files have some of it as well. */
const OURS = /\/[\w./-]*\.(?:ts|js)\b|canary-(?:code|test)/gi;

const reply = (status: number, body: unknown, headers: Record<string, string> = {}): Fault => {
  return { kind: 'reply', status, body, headers };
};

/** All that the daemon and the commands beside it have to say. */
async function everythingSaid(
  story: Story,
  httpPort: number | null,
  probe: Awaited<ReturnType<Story['listen']>>,
) {
  const page = story.stack.use(await openStream(`http://127.0.0.1:${httpPort}`, {}, untilAtRest));
  await page.ready();
  const texts = [JSON.stringify(page.events), ...story.log.map((line) => JSON.stringify(line))];
  for (const path of ['metrics', 'sign-in', 'report.txt'])
    texts.push(await (await fetch(`http://127.0.0.1:${httpPort}/${path}`)).text());
  for (const words of ['check --live --json', 'report']) {
    const said: string[] = [];
    await story.type(words, {}, { hear: (text) => void said.push(text) });
    texts.push(said.join(''));
  }
  await page.stop();
  return [...texts, ...probe.heard.flatMap(({ topic, payload }) => [topic, payload])].join('\n');
}

interface Row {
  readonly below: string;
  readonly fault?: Fault;
  readonly prepare?: (story: Story) => void;
  readonly config?: (stack: Stack) => Promise<object>;
  /** What is said of it. */
  readonly words: RegExp;
}

const TOKENS = '/auth/realms/energy/protocol/openid-connect/token';
const METADATA = '/auth/realms/energy/.well-known';
const USAGE = '/api/v1/reports/usage';
const CUSTOMERS = '/api/v1/customers';
const engine = (type: string) => {
  const cause = { type, reason: `failed [interval] for [${NUMBER}] ${QUOTED}`, index: QUOTED };
  return { error: { root_cause: [cause], ...cause, caused_by: cause }, status: 400 };
};

/** A server that answers so whatever it is sent; its address. */
async function saying(stack: Stack, bytes: string): Promise<string> {
  const server = createPlainServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(bytes, 'latin1'));
  });
  const port = await listening(server);
  stack.defer(() => void server.close());
  return `http://127.0.0.1:${port}`;
}

async function certifiedFor(stack: Stack, name: string): Promise<string> {
  const server = openAuthority({ name }).server({ name, hosts: [HOST] });
  return `https://127.0.0.1:${await startTlsEnd(stack, server)}`;
}

const api = async (url: Promise<string>) => ({ provider: { api_url: `${await url}/api/v1` } });
const issuer = async (url: Promise<string>) => ({ provider: { issuer: `${await url}/auth/realms/energy` } });

const ROWS: Readonly<Record<string, Row>> = {
  'an error and its description': {
    below: TOKENS,
    fault: oauth(400, 'invalid_grant', QUOTED),
    words: /refused the user name or password/,
  },
  'an error that is a text': {
    below: TOKENS,
    fault: oauth(403, QUOTED, QUOTED),
    words: /refus/,
  },
  'an error beside a header': {
    below: TOKENS,
    fault: reply(
      401,
      { error: 'invalid_client', error_description: QUOTED, error_uri: `https://${HOST}/` },
      { 'www-authenticate': `Bearer error="${HOST}", error_description="${HOST}"` },
    ),
    words: /refused the client/,
  },
  'a token that is none': {
    below: TOKENS,
    fault: reply(200, { access_token: { [QUOTED]: QUOTED }, token_type: QUOTED, scope: QUOTED }),
    words: /answered, but its token does not fit/,
  },
  'an id_token of somebody': {
    below: TOKENS,
    fault: idTokenWith({ iss: `https://${HOST}`, aud: QUOTED, sub: QUOTED, azp: QUOTED }),
    words: /the claim \\?"iss\\?" is another one/,
  },
  'claims that are called like a person': {
    below: TOKENS,
    prepare: ({ simulator }) =>
      void Object.assign(simulator.switches.token.claims, {
        customer_code: undefined,
        ...Object.fromEntries([...Object.values(CANARY), NUMBER, QUOTED].map((key) => [key, 1])),
      }),
    words: /no claim \\?"customer_code\\?" with text; its claims are: .*sub.* \d+ more/,
  },
  'metadata of somebody': {
    below: METADATA,
    fault: {
      kind: 'change',
      change: (body) => ({ ...Object(body), issuer: `https://${HOST}`, [QUOTED]: QUOTED }),
    },
    words: /calls itself by another address/,
  },
  'metadata in a format of its own': {
    below: METADATA,
    fault: reply(200, `<p>${QUOTED}`, { 'content-type': 'orla/canarywood' }),
    words: /HTTP 200 \(an unknown type\)/,
  },
  'an issuer that is elsewhere': {
    below: METADATA,
    fault: reply(302, QUOTED, { location: `https://${HOST}/${NUMBER}` }),
    words: /The issuer /,
  },
  'an issuer that speaks no HTTP': {
    below: METADATA,
    config: (stack) => issuer(saying(stack, `Dear ${HOST}, ${NUMBER}\r\n\r\n`)),
    words: /could not be reached \(HPE_\w+\)/,
  },
  'an issuer with the certificate of somebody': {
    below: METADATA,
    config: (stack) => issuer(certifiedFor(stack, `${CANARY.name} ${NUMBER}`)),
    words: /The certificate of the issuer/,
  },
  'a refusal in JSON': {
    below: CUSTOMERS,
    fault: reply(403, { code: QUOTED, message: QUOTED, error: QUOTED, [QUOTED]: QUOTED }),
    words: /refused the question for the customer with HTTP 403/,
  },
  'a refusal in HTML': {
    below: CUSTOMERS,
    fault: reply(418, `<title>${QUOTED}</title>`, { 'content-type': `text/html; name="${HOST}"` }),
    words: /refused the question for the customer with HTTP 418/,
  },
  'a fault that is to be waited for': {
    below: CUSTOMERS,
    fault: reply(503, { message: QUOTED }, { 'retry-after': HOST }),
    words: /answered the question for the customer with HTTP 503/,
  },
  'an answer in a format of its own': {
    below: CUSTOMERS,
    fault: reply(200, `Dear ${QUOTED}`, { 'content-type': 'orla/canarywood' }),
    words: /characters of an unknown type that are not/,
  },
  'a customer without what is needed': {
    below: CUSTOMERS,
    fault: reply(200, { name: QUOTED, [QUOTED]: { id: QUOTED }, id: { [QUOTED]: QUOTED } }),
    words: /expected .* at id, found an object/,
  },
  'a redirect': {
    below: CUSTOMERS,
    fault: reply(307, QUOTED, { location: `https://${HOST}/${NUMBER}` }),
    words: /redirected the question for the customer to another address \(HTTP 307\)/,
  },
  'an API that speaks no HTTP': {
    below: CUSTOMERS,
    config: (stack) => api(saying(stack, `HTTP/1.1 Dear ${HOST}\r\n\r\n`)),
    words: /No answer to the question for the customer: HPE_\w+/,
  },
  'an API with words beside its status': {
    below: CUSTOMERS,
    config: (stack) => api(saying(stack, `HTTP/1.1 409 ${HOST} ${NUMBER}\r\ncontent-length: 0\r\n\r\n`)),
    words: /refused the question for the customer with HTTP 409/,
  },
  'an API with the certificate of somebody': {
    below: CUSTOMERS,
    config: (stack) => api(certifiedFor(stack, `${CANARY.name} ${NUMBER}`)),
    words: /The certificate of the API/,
  },
  'a query that the search engine refuses': {
    below: USAGE,
    fault: reply(400, engine('parsing_exception')),
    words: /"type":"parsing_exception","names":\["interval"\]/,
  },
  'a query refused by a type of its own': {
    below: USAGE,
    fault: reply(400, engine(`orla_canarywood_${NUMBER}_exception`)),
    words: /"type":"unknown","names":\["interval"\]/,
  },
  'a shard that failed': {
    below: USAGE,
    fault: reply(200, {
      timed_out: false,
      _shards: { total: 5, successful: 4, failed: 1, failures: [{ index: QUOTED, reason: engine(QUOTED) }] },
    }),
    words: /1 of the index's shards failed/,
  },
  'buckets of somebody': {
    below: USAGE,
    fault: reply(200, { aggregations: { resources: { buckets: [{ key: QUOTED, readings: QUOTED }] } } }),
    words: /found a string/,
  },
};

test.each(Object.keys(ROWS))('%s: told in our own words', async (name) => {
  const { below, fault, prepare, config, words } = ROWS[name] as Row;
  const story = await openStory();
  prepare?.(story);
  if (fault) story.simulator.switches.fault(below, fault);
  const probe = await story.listen();
  const daemon = await story.start((await config?.(story.stack)) as Record<string, unknown> | undefined);
  await story.polled(1);
  const said = await everythingSaid(story, daemon.httpPort, probe);
  expect(said).toMatch(words);
  expect(said.replaceAll(OURS, '').match(PERSONAL)).toBeNull();
});

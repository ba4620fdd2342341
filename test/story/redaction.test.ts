// Servers that quote everything they know of a person, and configurations that hold secrets in the wrong place. Every story searches its
// topics and its log for secrets when it ends; these have something more to be searched.
import { expect, test } from 'vitest';
import { Failure } from '../../src/foundation/failure.ts';
import type { Fault } from '../../src/simulator/switches.ts';
import { about, CANARY, expectSilence, formsOf } from '../support/canaries.ts';
import { asked, spoil } from '../support/extras.ts';
import { FAULTS, inSums, oauth } from '../support/faults.ts';
import { HEALTH, ME } from '../support/homes.ts';
import { untilAtRest } from '../support/rest.ts';
import { firstPoll, HOUR_MS, openStory, type Story } from '../support/story.ts';
import { openStream } from '../web/stream.ts';

const QUOTED = about(ME);
const { username } = ME;
const { brokerPassword, opaqueToken } = CANARY;
const BROKER = { mqtt: { username: 'bridge', password: brokerPassword } };
const told = (status: number, body: unknown = { message: QUOTED, [username]: QUOTED }, headers = {}) =>
  ({ kind: 'reply', status, body, headers }) satisfies Fault;
const html = (status: number) =>
  told(status, `<html><title>${QUOTED}</title><form>Dear ${QUOTED}</form></html>`, {
    'content-type': 'text/html',
  });

test('the check finds each canary in each form', () => {
  for (const secret of Object.values(CANARY)) {
    for (const form of formsOf(secret)) expect(() => expectSilence([`before ${form} after`])).toThrow();
    const carried = Buffer.from(`user:${secret}!`).toString('base64');
    expect(() => expectSilence([carried])).toThrow();
  }
  expect(() => expectSilence(['Bearer eyJhbGciOiJub25lIn0.e30'])).toThrow();
});

/** Everything that the daemon serves, for the search at the end of the story. */
async function note(story: Story, httpPort: number | null): Promise<void> {
  const page = story.stack.use(await openStream(`http://127.0.0.1:${httpPort}`, {}, untilAtRest));
  await page.ready();
  expect(page.messages().length).toBeGreaterThan(1);
  story.alsoSaid(...leavesOf(page.events), ...story.log.flatMap(leavesOf));
  for (const path of ['metrics', 'session', 'sign-in', 'ledger.csv?meter=70418235'])
    story.alsoSaid(await (await fetch(`http://127.0.0.1:${httpPort}/${path}`)).text());
  await page.stop();
}

/** The texts within a value, as they were before JSON escaped them. */
function leavesOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...leavesOf(inner)]);
}

// What each refusal says is in test/auth/refusals.test.ts.
test.each<[string, string, Fault]>([
  ['a discovery document', '', html(200)],
  ['a refused login', '/token', oauth(401, 'invalid_grant', QUOTED)],
  ['a token reply of another shape', '/token', told(200, { access_token: 7, message: QUOTED })],
  ['a token that is no JWT', '/token', told(200, { access_token: opaqueToken, token_type: 'Bearer' })],
])('the issuer quotes, in %s: log, topics, page and metrics are silent', async (_, path, fault) => {
  const story = await openStory();
  story.simulator.switches.fault('/auth/', fault, { when: (one) => one.path.includes(path) });
  const daemon = await story.start(BROKER);
  await story.polled(1);
  expect(story.logged('poll failed')).toHaveLength(1);
  await note(story, daemon.httpPort);
});

const deep = { objects: [{ id: { [CANARY.name]: QUOTED } }], total_num: QUOTED };
const buckets = { aggregations: { resources: { buckets: [{ key: QUOTED, [QUOTED]: 1 }] } } };
const PROVIDER: readonly (readonly [string, Fault])[] = [
  ['a fault in JSON', told(500)],
  ['a fault in HTML', html(503)],
  ['HTML for JSON', html(200)],
  ['a 401 for ever', FAULTS.unauthorized],
  ['text', told(200, QUOTED)],
  ['keys that are private', told(200, { [username]: QUOTED })],
  ['private keys deep within', told(200, deep)],
  ['buckets that are private', told(200, buckets)],
  ['text for numbers', inSums(() => QUOTED)],
];

test('the provider quotes: log, topics, page and metrics are silent', async () => {
  const { story, probe, simulator, daemon } = await firstPoll({
    config: BROKER,
    prepare: ({ simulator }) => void simulator.switches.fault('/api/v1/customers', told(403)),
  });
  for (const [name, fault] of PROVIDER) {
    simulator.switches.clearFaults();
    simulator.switches.fault('/api/', fault);
    probe.forget();
    await story.nextPoll(HOUR_MS);
    await probe.until(HEALTH, ({ failures_in_a_row }) => failures_in_a_row !== 0);
    expect([name, probe.json(HEALTH)?.state]).not.toEqual([name, 'ok']);
  }
  await note(story, daemon.httpPort);
});

const { name, address, phone } = CANARY;
const fields = { meter_value: QUOTED, time_of_read: '1741564800000', identifier: name };
const CUSTOMER = { number: ME.customerCode, customer: { name, address, email: username }, [username]: phone };
const ROW = { ...CUSTOMER, status: QUOTED, amount: 1, total_amount: 12.5, due_amount: QUOTED, fields };
const CARELESS: readonly (readonly [where: string, body: unknown])[] = [
  ['in fields that are not read', { objects: [{ ...ROW, id: 1 }], currency: { code: 'EUR', name } }],
  ['in ids', { objects: [username, QUOTED].map((id) => ({ ...ROW, id })) }],
  ['for a number or a code', { open_bill_due: QUOTED, timezone: QUOTED, currency: { code: QUOTED } }],
  ['in place of everything', QUOTED],
];

test('canaries in bills, readings, balance and site', async () => {
  const { story, switches } = await firstPoll();
  for (const [where, body] of CARELESS) {
    const before = asked(story, 'invoices');
    switches.clearFaults();
    spoil(story, told(200, body));
    // What was not understood is not asked for within a week.
    await story.nextPoll(8 * 24 * HOUR_MS);
    expect([where, asked(story, 'invoices') > before]).toEqual([where, true]);
  }
});

/** What is typed with the configuration `over` the usual one; what it says is searched, with the words of what it throws. */
async function type(story: Story, words: string, over: Readonly<Record<string, unknown>> | string = {}) {
  const said: string[] = [];
  const listen = (text: string) => void said.push(text);
  const typing = story.type(words, over, { hear: listen });
  const exitCode = await typing.then(
    (done) => done.exitCode,
    (err) => {
      if (!(err instanceof Failure)) throw err;
      listen(`${err.message} ${err.hint}`);
      return err.exitCode;
    },
  );
  story.alsoSaid(...said, said.join(''));
  return { exitCode, length: said.join('').length };
}

test('commands on a good day, and those that sign in when a refusal quotes', async () => {
  const story = await openStory();
  const mqtt = { url: 'mqtt://127.0.0.1:9', username: 'b', password: brokerPassword };
  const usage = ['csv', 'table'].map((format) => `usage --format ${format}`);
  for (const words of ['config show', 'check --live --json', ...usage, 'invoices --format csv', 'report'])
    expect((await type(story, words, { mqtt })).length).toBeGreaterThan(100);

  const refusal = told(401, { error: 'invalid_grant', error_description: QUOTED });
  // Discovery is as usual.
  const when = ({ path }: { path: string }) => path.includes('/protocol/');
  story.simulator.switches.fault('/auth/', refusal, { when });
  story.simulator.endSessions();
  const { issuer, api: api_url } = story.simulator.urls;
  const redirect_uri = 'https://portal.example.org/signed-in';
  const provider = { issuer, api_url, client_id: 'self-care', redirect_uri };
  const ways = ['auto', 'form', 'device', 'link'].map((method) => `login --method ${method}`);
  const state_dir = await story.stack.folder();
  for (const words of [...ways, 'check --live --json', 'invoices'])
    expect((await type(story, words, { provider, state_dir })).exitCode).toBeGreaterThan(0);
});

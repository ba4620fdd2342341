// Servers that quote everything they know of a person, and configurations that hold secrets in the wrong place. Every story
// searches its topics and its log for secrets when it ends; these have something more to be searched.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Daemon } from '../../src/daemon/daemon.ts';
import { Failure } from '../../src/foundation/failure.ts';
import type { Fault } from '../../src/simulator/switches.ts';
import { about, CANARY, expectSilence, formsOf } from '../support/canaries.ts';
import { asked, spoil } from '../support/extras.ts';
import { FAULTS, inSums, oauth } from '../support/faults.ts';
import { HEALTH, ME } from '../support/homes.ts';
import { untilAtRest } from '../support/rest.ts';
import { firstPoll, HOUR_MS, openStory, type Story } from '../support/story.ts';
import { usualConfig } from '../support/storyRules.ts';
import { typed } from '../support/typed.ts';
import { openStream } from '../web/stream.ts';

const QUOTED = about(ME);
const HTML = { 'content-type': 'text/html' };
const html = (status: number): Fault => ({
  kind: 'reply',
  status,
  body: `<html><title>${QUOTED}</title><form>Dear ${QUOTED}</form></html>`,
  headers: HTML,
});
const told = (
  status: number,
  body: unknown = { code: status, message: QUOTED, [ME.username]: QUOTED },
): Fault => ({
  kind: 'reply',
  status,
  body,
});
const toToken = ({ path }: { path: string }) => path.includes('/token');

test('the check finds each canary in each form', () => {
  for (const secret of Object.values(CANARY)) {
    for (const form of formsOf(secret)) expect(() => expectSilence([`before ${form} after`])).toThrow();
    const carried = Buffer.from(`user:${secret}!`).toString('base64');
    expect(() => expectSilence([carried])).toThrow();
  }
  expect(() => expectSilence(['Bearer eyJhbGciOiJub25lIn0.e30'])).toThrow();
});

// What each refusal says is in test/auth/refusals.test.ts.
const ISSUER: readonly (readonly [string, Fault, { when?: typeof toToken }])[] = [
  ['a discovery document', html(200), {}],
  ['a refused login', oauth(401, 'invalid_grant', QUOTED), { when: toToken }],
  ['a token reply of another shape', told(200, { access_token: 7, message: QUOTED }), { when: toToken }],
  [
    'a token that is no JWT',
    told(200, { access_token: CANARY.opaqueToken, token_type: 'Bearer' }),
    { when: toToken },
  ],
];
const PROVIDER: readonly (readonly [string, Fault])[] = [
  ['a refusal in JSON', told(403)],
  ['a fault in JSON', told(500)],
  ['a fault in HTML', html(503)],
  ['HTML for JSON', html(200)],
  ['a 401 for ever', FAULTS.unauthorized],
  ['text', told(200, QUOTED)],
  ['keys that are private', told(200, { [ME.username]: QUOTED })],
  [
    'private keys deep within',
    told(200, { objects: [{ id: { [CANARY.name]: QUOTED } }], total_num: QUOTED }),
  ],
  [
    'buckets that are private',
    told(200, { aggregations: { resources: { buckets: [{ key: QUOTED, [QUOTED]: 1 }] } } }),
  ],
  ['text for numbers', inSums(() => QUOTED)],
];

/** Everything that the daemon serves, for the search at the end of the story. */
async function note(story: Story, { httpPort }: Daemon): Promise<void> {
  const page = story.stack.use(await openStream(`http://127.0.0.1:${httpPort}`, {}, untilAtRest));
  await page.ready();
  expect(page.messages().length).toBeGreaterThan(1);
  story.alsoSaid(...leavesOf(page.events), ...story.log.flatMap(leavesOf));
  for (const path of ['metrics', 'session', 'sign-in', 'ledger.csv?meter=70418235'])
    story.alsoSaid(await (await fetch(`http://127.0.0.1:${httpPort}/${path}`)).text());
  await page.stop();
}

const BROKER = { mqtt: { username: 'bridge', password: CANARY.brokerPassword } };

test('the issuer quotes, in discovery and in tokens: log, topics, page and metrics are silent', async () => {
  const story = await openStory();
  const { counters, switches } = story.simulator;
  for (const [words, fault, when] of ISSUER) {
    const before = counters.log.length;
    switches.clearFaults();
    switches.fault('/auth/', fault, when);
    // Each begins without a memory of refusals.
    const daemon = await story.start({ ...BROKER, state_dir: await story.stack.folder() });
    await story.pass(HOUR_MS / 6, 5 * 60_000);
    expect([words, counters.log.length > before]).toEqual([words, true]);
    await note(story, daemon);
    await story.stop(daemon);
    // It has been noted.
    story.forgetLog();
  }
});

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
  await note(story, daemon);
});

/** The texts within a value, as they were before JSON escaped them. */
function leavesOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...leavesOf(inner)]);
}

const ROW = {
  status: QUOTED,
  number: ME.customerCode,
  customer: { name: CANARY.name, address: CANARY.address, email: ME.username },
  [ME.username]: CANARY.phone,
  amount: 1,
  total_amount: 12.5,
  due_amount: QUOTED,
  fields: { meter_value: QUOTED, time_of_read: '1741564800000', identifier: CANARY.name },
};

const CARELESS: readonly (readonly [where: string, body: unknown])[] = [
  [
    'in fields that are not read',
    { objects: [{ ...ROW, id: 1 }], total_num: 1, currency: { code: 'EUR', name: CANARY.name } },
  ],
  ['in ids', { objects: [ME.username, QUOTED].map((id) => ({ ...ROW, id })) }],
  ['for a number or a code', { open_bill_due: QUOTED, timezone: QUOTED, currency: { code: QUOTED } }],
  ['in place of everything', QUOTED],
];

test('canaries in bills, readings, balance and site', async () => {
  const { story, probe, switches } = await firstPoll();
  for (const [where, body] of CARELESS) {
    const before = asked(story, 'invoices');
    switches.clearFaults();
    spoil(story, told(200, body));
    // What was not understood is not asked for within a week.
    await story.nextPoll(8 * 24 * HOUR_MS);
    expect([where, asked(story, 'invoices') > before]).toEqual([where, true]);
  }
  expect(probe.json('heat2mqtt/account/home/state')).toBeDefined();
});

/** What is typed with the configuration `over` the usual one, the words of what was thrown included. */
async function type({ simulator, stateDir }: Story, words: readonly string[], over: object | string = {}) {
  const usual = usualConfig(simulator.urls, [ME], 'mqtt://127.0.0.1:9', stateDir);
  const path = join(stateDir, 'config.yaml');
  await writeFile(path, typeof over === 'string' ? over : JSON.stringify({ ...usual, ...over }));
  const said: string[] = [];
  const note = (text: string) => void said.push(text);
  const exitCode = await typed([...words, '--config', path], { out: note, err: note }).then(
    (done) => done.exitCode,
    (err) => {
      if (!(err instanceof Failure)) throw err;
      note(`${err.message} ${err.hint}`);
      return err.exitCode;
    },
  );
  return { exitCode, said };
}

const { username, password } = ME;
const { brokerPassword, opaqueToken } = CANARY;

const MISTAKEN: readonly (readonly [what: string, over: object | string])[] = [
  ['a key too many beside them', { accounts: [{ username, password, pasword: password }] }],
  ['both ways at once', { accounts: [{ username, password, password_file: '/nowhere' }] }],
  ['a mapping for a password', { accounts: [{ username, password: { is: password } }] }],
  ['the password where the account is', { accounts: password }],
  ['the password for an id', { accounts: [{ id: password, username, password }] }],
  ['it all within the address', { mqtt: { url: `mqtt://u:${encodeURIComponent(brokerPassword)}@h:x` } }],
  ['the broker password for a section', { mqtt: brokerPassword }],
  [
    'the token of a section that is wrong',
    { http: { listen: 7 }, home_assistant: { url: 'x', token: opaqueToken } },
  ],
  ['no YAML', `accounts:\n  - username: ${username}\n    password: "${password}\n  : [${brokerPassword}`],
];

test('configurations that mistake one for another tell their mistakes, and no canary', async () => {
  const story = await openStory();
  for (const [what, over] of MISTAKEN)
    for (const words of [['check', '--json'], ['config', 'show'], ['run']]) {
      const { exitCode, said } = await type(story, words, over);
      expect([what, words, exitCode]).toEqual([what, words, 3]);
      story.alsoSaid(...said, said.join(''));
    }
});

const COMMANDS = [
  'config show',
  'check --json',
  'check --live --json',
  'usage --format csv',
  'usage --format table',
  'invoices --format csv',
  'report',
];

test('commands on a good day', async () => {
  const story = await openStory({ at: new Date().toISOString() });
  for (const words of COMMANDS) {
    const { said } = await type(story, words.split(' '), {
      mqtt: { url: 'mqtt://127.0.0.1:9', username: 'b', password: brokerPassword },
    });
    expect(said.join('').length).toBeGreaterThan(100);
    story.alsoSaid(...said, said.join(''));
  }
});

test('login by each method, and the commands that sign in, meet a refusal that quotes', async () => {
  const story = await openStory({ at: new Date().toISOString() });
  const refusal = told(401, { error: 'invalid_grant', error_description: QUOTED });
  // Discovery is as usual.
  const when = ({ path }: { path: string }) => path.includes('/protocol/');
  story.simulator.switches.fault('/auth/', refusal, { when });
  const { issuer, api: api_url } = story.simulator.urls;
  const redirect_uri = 'https://portal.example.org/signed-in';
  const provider = { issuer, api_url, client_id: 'self-care', redirect_uri };
  const ways = ['auto', 'form', 'device', 'link'].map((method) => `login --method ${method}`);
  for (const words of [...ways, 'check --live --json', 'invoices']) {
    const { exitCode, said } = await type(story, words.split(' '), { provider });
    expect(exitCode).toBeGreaterThan(0);
    story.alsoSaid(...said);
  }
});

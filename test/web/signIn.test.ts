// Signing in from the page, by each method: the same budget and session as the command, and nothing secret comes back.
import { expect, test } from 'vitest';
import { Browser, REDIRECT } from '../simulator/browser.ts';
import { HEALTH, ME } from '../support/homes.ts';
import { untilTrue } from '../support/rest.ts';
import { openStory } from '../support/story.ts';
import { PASSWORD } from './served.ts';
import { openStream } from './stream.ts';

const MINUTE_MS = 60_000;
type Json = Record<string, unknown>;

/** A daemon whose only account has no session, and a browser with its page. */
async function openPage(provider: Json, account: Json = {}) {
  const story = await openStory();
  Object.assign(story.simulator.switches.token, { devicePollSeconds: 0.1 });
  const probe = await story.listen();
  const { httpPort } = await story.start({
    provider,
    accounts: [{ id: 'home', username: ME.username, ...account }],
    usage: { history_since: '2025-02-18' },
    web: { password: PASSWORD },
  });
  await story.polled(1);
  const address = `http://127.0.0.1:${httpPort}`;
  const opened = await fetch(`${address}/session`, {
    method: 'POST',
    body: JSON.stringify({ password: PASSWORD }),
  });
  const session = { cookie: opened.headers.get('set-cookie')?.split(';')[0] ?? '' };
  const answers: string[] = [];
  async function ask(method: string, path = '', body?: Json, way: Record<string, string> = {}) {
    const headers = { ...session, ...way };
    const sent = body && { body: JSON.stringify(body) };
    const response = await fetch(`${address}/sign-in${path}`, { method, headers, ...sent });
    const text = await response.text();
    answers.push(text);
    return { status: response.status, body: text === '' ? null : JSON.parse(text) };
  }
  const device = async () => (await ask('GET')).body[0]?.device ?? null;
  const stream = story.stack.use(await openStream(address, session, () => story.pass(200, 100)));
  await stream.ready();
  return {
    story,
    probe,
    ask,
    device,
    /** The issuer refuses to be asked twice at the same moment. `undefined`: the account needs nothing any more. */
    untilDevice: (state: string | undefined) =>
      untilTrue(`a device that is ${state}`, async () => {
        story.clock.advance(200);
        return (await device())?.state === state;
      }),
    async expectWell() {
      await stream.until('good health', () => (stream.last('bridge/health') as Json).state === 'ok');
      expect(probe.json(HEALTH)).toMatchObject({ state: 'ok' });
      expect((await ask('GET')).body).toEqual([]);
      for (const way of ['device', 'link'])
        expect(await ask('POST', `/home/${way}`, {})).toMatchObject(SIGNED_IN);
      story.secrets.expectLinkOnly([...answers, ...stream.events.map((event) => JSON.stringify(event))]);
    },
  };
}

const refusal = (code: string) => ({ status: 422, body: { error: { code } } });
const SIGNED_IN = refusal('already_signed_in');

test('begins again when a sign-in on another device was declined or cancelled, and polls at once when it is done', async () => {
  const { story, ask, device, untilDevice, expectWell } = await openPage({ sign_in: 'device' });
  expect((await ask('GET')).body).toMatchObject([
    {
      account: 'home',
      state: 'login_needed',
      reason: { code: 'login_needed' },
      methods: ['password', 'device'],
      ...{ budget: null, device: null, link: null },
    },
  ]);
  const first = (await ask('POST', '/home/device')).body;
  expect(first).toMatchObject({
    state: 'waiting',
    verification_uri_complete: expect.stringContaining(first.user_code),
    qr: { size: expect.any(Number), path: expect.stringMatching(/^(M\d+ \d+h1v1h-1z)+$/) },
  });
  expect(await device()).toEqual(first);
  story.simulator.device.deny(first.user_code);
  await untilDevice('failed');
  expect(await device()).toMatchObject({ error: { code: 'code_refused' } });
  await ask('POST', '/home/device');
  expect((await ask('DELETE', '/home/device')).status).toBe(204);
  expect(await device()).toBeNull();
  for (let n = 0; n < 8; n += 1) expect((await ask('POST', '/home/device')).status).toBe(200);
  const { user_code } = await device();
  expect(await ask('POST', '/home/device')).toMatchObject(refusal('too_many_attempts'));
  story.simulator.device.approve(user_code, ME.username);
  await untilDevice(undefined);
  await expectWell();
  // What a person has cancelled is no trouble.
  expect(story.logged('the sign-in on another device has failed')).toHaveLength(1);
});

test('waits for one device when two browsers ask at the same moment, and for none when that is cancelled', async () => {
  const { story, ask, device } = await openPage({ sign_in: 'device' });
  const begun = await Promise.all([ask('POST', '/home/device'), ask('POST', '/home/device')]);
  const codes = begun.map(({ body }) => body.user_code);
  expect(codes).toContain((await device()).user_code);
  await ask('DELETE', '/home/device');
  for (const code of codes) story.simulator.device.approve(code, ME.username);
  await story.pass(5_000, 100);
  expect(story.logged('signed in from the page')).toEqual([]);
  expect(await ask('GET')).toMatchObject({ body: [{ state: 'login_needed', device: null }] });
});

test.each([
  ['the QR code is that of the short one', 'https://id.example.org/device', true],
  ['there is no QR code', `https://id.example.org/device?${'x'.repeat(5_000)}`, false],
])(
  'gives a link when the address of another device has 5,000 characters, and %s',
  async (_, verification_uri, hasCode) => {
    const { story, ask, device } = await openPage({ sign_in: 'device' });
    const verification_uri_complete = `https://id.example.org/device?user_code=${'x'.repeat(5_000)}`;
    story.simulator.switches.fault('/auth/realms/energy/protocol/openid-connect/auth/device', {
      kind: 'change',
      change: (body) => ({ ...Object(body), verification_uri, verification_uri_complete, expires_in: 1e300 }),
    });
    const { status, body } = await ask('POST', '/home/device');
    const qr = hasCode ? { size: expect.any(Number), path: expect.stringMatching(/^M/) } : null;
    expect([status, body]).toMatchObject([200, { state: 'waiting', verification_uri_complete, qr }]);
    expect((Date.parse(body.expires_at) - story.clock.now()) / 3_600_000).toBeCloseTo(24);
    expect(await device()).toEqual(body);
  },
);

test('says what is wrong with a pasted address, without repeating it, when a link is followed beside a device', async () => {
  const { story, ask, device, expectWell } = await openPage({ sign_in: 'link', redirect_uri: REDIRECT });
  expect(await ask('POST', '/home/link', { pasted: 'early' })).toMatchObject(refusal('no_attempt'));
  const begun = (await ask('POST', '/home/device')).body;
  const { address } = (await ask('POST', '/home/link')).body;
  expect((await ask('GET')).body).toMatchObject([{ device: begun, link: address }]);
  const wrong = await ask('POST', '/home/link', { pasted: `${REDIRECT}?code=abc-17&state=another` });
  expect(wrong).toMatchObject(refusal('wrong_address'));
  expect(JSON.stringify(wrong)).not.toContain('abc-17');
  const signedIn = (await new Browser().signIn(address, ME.username, ME.password)).location;
  const refused = new URL(signedIn ?? '');
  refused.searchParams.set('code', 'made-up');
  expect((await ask('POST', '/home/link', { pasted: refused.href })).status).toBe(422);
  expect((await ask('GET')).body).toMatchObject([{ link: address }]);
  const clicks = [1, 2].map(() => ask('POST', '/home/link', { pasted: signedIn?.href }));
  const answers = await Promise.all(clicks);
  expect(answers.map(({ body }) => body.state ?? body.error.code).sort()).toEqual(['done', 'no_attempt']);
  expect(await device()).toBeNull();
  expect(await ask('POST', '/home/link', { pasted: signedIn?.href })).toMatchObject(refusal('no_attempt'));
  // The device is not waited for any more.
  story.simulator.device.approve(begun.user_code, ME.username);
  await story.pass(1_000, 100);
  expect(story.logged('signed in from the page')).toMatchObject([{ method: 'link' }]);
  await expectWell();
});

test('keeps the newest link when an older one is refused later', async () => {
  const { story, ask } = await openPage({ sign_in: 'link', redirect_uri: REDIRECT });
  const begin = async () => (await ask('POST', '/home/link')).body.address;
  const older = (await new Browser().signIn(await begin(), ME.username, ME.password)).location;
  older?.searchParams.set('code', 'made-up');
  const token = '/auth/realms/energy/protocol/openid-connect/token';
  story.simulator.switches.fault(token, { kind: 'slow', ms: 1_000 }, { times: 1 });
  const pasting = ask('POST', '/home/link', { pasted: older?.href });
  const asked = () => story.simulator.requests.some(({ path }) => path.endsWith('/token'));
  await untilTrue('the question', async () => asked());
  const newest = await begin();
  await story.pass(2_000, 100);
  expect(await pasting).toMatchObject({ status: 422 });
  expect(await ask('GET')).toMatchObject({ body: [{ link: newest }] });
});

test('refuses a link when the configuration has no redirect address', async () => {
  const { ask } = await openPage({ sign_in: 'device' });
  expect(await ask('POST', '/home/link')).toMatchObject(refusal('method_unusable'));
});

test('signs in by a typed password and keeps none of it when the way is encrypted', async () => {
  const { story, ask, expectWell } = await openPage({ sign_in: 'device', redirect_uri: REDIRECT });
  story.simulator.switches.token.oneTimeCodes.set(ME.username, '204816');
  const typed = { username: ME.username, password: ME.password, code: '204 816' };
  const way = { 'x-forwarded-for': '192.0.2.1' };
  expect((await ask('GET', '', undefined, way)).body).toMatchObject([{ methods: ['device', 'link'] }]);
  expect(await ask('POST', '/home/password', typed, way)).toMatchObject({
    status: 403,
    body: { error: { code: 'not_encrypted' } },
  });
  expect((await ask('POST', '/other/password', typed)).status).toBe(404);
  for (const wrong of [{}, { ...typed, password: '' }, { ...typed, code: 'x'.repeat(257) }])
    expect((await ask('POST', '/home/password', wrong)).status).toBe(400);
  expect(story.simulator.counters.passwordGrants.asked).toBe(0);
  // A second click, or a second browser, must not send a code again that has served.
  const typing = [1, 2].map(() => ask('POST', '/home/password', typed));
  const answers = await story.passing(Promise.all(typing));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 422]);
  expect(story.simulator.counters.passwordGrants.asked).toBe(1);
  expect(await ask('POST', '/home/password', typed)).toMatchObject(SIGNED_IN);
  await expectWell();
});

test('counts typed passwords in the login budget of the configured one when they are refused', async () => {
  const { story, ask } = await openPage({}, { password: 'not the password' });
  const { passwordGrants } = story.simulator.counters;
  expect(passwordGrants.asked).toBe(1);
  const type = (password: string) => ask('POST', '/home/password', { username: ME.username, password });
  // One more than the budget allows, once an hour, as with Poll now.
  expect(await type('wrong 1')).toMatchObject(refusal('bad_credentials_or_locked'));
  for (let n = 2; n < 12; n += 1) expect((await type(`wrong ${n}`)).status).toBe(422);
  // What is not sent is not masked either: otherwise a visitor could blank out the log.
  expect((await type('home')).status).toBe(422);
  expect(passwordGrants.asked).toBe(2);
  expect((await ask('GET')).body).toMatchObject([
    { budget: { refusals: 2, nextAttemptAt: expect.any(String) } },
  ]);
  await story.pass(50 * MINUTE_MS, MINUTE_MS);
  expect(passwordGrants.asked).toBe(2);
  await story.pass(11 * MINUTE_MS, MINUTE_MS);
  expect(await type(ME.password)).toMatchObject({ status: 200 });
  expect(story.logged('signed in from the page')).toMatchObject([{ account: 'home' }]);
});

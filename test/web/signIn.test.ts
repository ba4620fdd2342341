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

/** A daemon whose only account has no session, and a browser with its page; on its `way` there is a proxy. */
async function openPage(provider: Json, account: Json = {}, way: Record<string, string> | null = null) {
  const at = new Date();
  const story = await openStory({ at: at.toISOString() });
  Object.assign(story.simulator.switches.token, { devicePollSeconds: 0.1 });
  const probe = await story.listen();
  const since = new Date(at.getTime() - 20 * 86_400_000).toISOString().slice(0, 10);
  const { httpPort } = await story.start({
    provider,
    accounts: [{ id: 'home', username: ME.username, ...account }],
    usage: { history_since: since },
    ...(way && { web: { password: PASSWORD } }),
  });
  await story.polled(1);
  const address = `http://127.0.0.1:${httpPort}`;
  const headers: Record<string, string> = { ...way };
  if (way !== null) {
    const given = { method: 'POST', headers, body: JSON.stringify({ password: PASSWORD }) };
    const opened = await fetch(`${address}/session`, given);
    headers.cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? '';
  }
  const told: string[] = [];
  async function ask(method: string, path = '', body?: Json) {
    const response = await fetch(`${address}/sign-in${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    told.push(text);
    return { status: response.status, body: text === '' ? null : JSON.parse(text) };
  }
  const stream = story.stack.use(await openStream(address, headers, () => story.pass(200, 100)));
  await stream.ready();
  /** The issuer refuses to be asked twice at the same moment. */
  const untilDevice = (state: string) =>
    untilTrue(`a device that is ${state}`, async () => {
      story.clock.advance(200);
      return (await ask('GET', '/home/device')).body.state === state;
    });
  return {
    story,
    probe,
    ask,
    untilDevice,
    async expectWell() {
      await stream.until('good health', () => (stream.last('bridge/health') as Json).state === 'ok');
      expect(probe.json(HEALTH)).toMatchObject({ state: 'ok' });
      expect((await ask('GET')).body).toEqual([]);
      story.secrets.expectLinkOnly([...told, ...stream.events.map((event) => JSON.stringify(event))]);
    },
  };
}

test('on another device: code and QR code, waiting, done, and a poll at once', async () => {
  const { story, ask, untilDevice, expectWell } = await openPage({ sign_in: 'device' });
  expect((await ask('GET')).body).toMatchObject([
    {
      account: 'home',
      state: 'login_needed',
      reason: { code: 'login_needed' },
      methods: ['password', 'device'],
      budget: null,
      device: null,
    },
  ]);
  const begun = (await ask('POST', '/home/device')).body;
  expect(begun).toMatchObject({
    state: 'waiting',
    verification_uri_complete: expect.stringContaining(begun.user_code),
    qr: { size: expect.any(Number), path: expect.stringMatching(/^(M\d+ \d+h1v1h-1z)+$/) },
  });
  expect((await ask('GET', '/home/device')).body).toEqual(begun);
  story.simulator.device.approve(begun.user_code, ME.username);
  await untilDevice('done');
  await expectWell();
});

test('declined or cancelled, it may be begun again', async () => {
  const { story, ask, untilDevice } = await openPage({ sign_in: 'device' });
  const first = (await ask('POST', '/home/device')).body;
  story.simulator.device.deny(first.user_code);
  await untilDevice('failed');
  expect((await ask('GET')).body).toMatchObject([{ device: { error: { code: 'code_refused' } } }]);
  await ask('POST', '/home/device');
  expect((await ask('DELETE', '/home/device')).status).toBe(204);
  expect((await ask('GET', '/home/device')).status).toBe(404);
  for (let n = 0; n < 8; n += 1) expect((await ask('POST', '/home/device')).status).toBe(200);
  const last = (await ask('GET', '/home/device')).body;
  expect(await ask('POST', '/home/device')).toMatchObject({
    status: 422,
    body: { error: { code: 'too_many_attempts' } },
  });
  expect((await ask('GET', '/home/device')).body).toEqual(last);
});

test('by a link: what is wrong with a pasted address is said without repeating it', async () => {
  const { ask, expectWell } = await openPage({ sign_in: 'link', redirect_uri: REDIRECT });
  expect(await ask('POST', '/home/link', { pasted: 'early' })).toMatchObject({ status: 422 });
  await ask('POST', '/home/device');
  const { address } = (await ask('POST', '/home/link')).body;
  const wrong = await ask('POST', '/home/link', { pasted: `${REDIRECT}?code=abc-17&state=another` });
  expect(wrong).toMatchObject({ status: 422, body: { error: { code: 'wrong_address' } } });
  expect(JSON.stringify(wrong)).not.toContain('abc-17');
  const pasted = (await new Browser().signIn(address, ME.username, ME.password)).location?.href;
  expect((await ask('POST', '/home/link', { pasted })).body).toEqual({ state: 'done' });
  expect((await ask('GET', '/home/device')).status).toBe(404);
  await expectWell();
});

test('device and link live beside each other until one of them has signed in', async () => {
  const { story, ask, untilDevice } = await openPage({ sign_in: 'device', redirect_uri: REDIRECT });
  const begun = (await ask('POST', '/home/device')).body;
  const { address } = (await ask('POST', '/home/link')).body;
  expect((await ask('GET', '/home/device')).body).toEqual(begun);
  await ask('DELETE', '/home/device');
  const { user_code } = (await ask('POST', '/home/device')).body;
  const mistake = { error: { code: 'wrong_address' } };
  expect((await ask('POST', '/home/link', { pasted: REDIRECT })).body).toMatchObject(mistake);
  story.simulator.device.approve(user_code, ME.username);
  await untilDevice('done');
  const pasted = (await new Browser().signIn(address, ME.username, ME.password)).location?.href;
  expect((await ask('POST', '/home/link', { pasted })).body).toMatchObject({ error: { code: 'no_attempt' } });
});

test('by a typed password with a one-time code, which nobody keeps', async () => {
  const { story, ask, expectWell } = await openPage({ sign_in: 'device' });
  story.simulator.switches.token.oneTimeCodes.set(ME.username, '204816');
  const typed = {
    username: ME.username,
    password: ME.password,
    code: '204 816',
  };
  expect(await ask('POST', '/home/password', typed)).toEqual({ status: 200, body: { state: 'done' } });
  expect(await ask('POST', '/home/password', typed)).toMatchObject({
    status: 422,
    body: { error: { code: 'already_signed_in' } },
  });
  for (const way of ['device', 'link'])
    expect(await ask('POST', `/home/${way}`, {})).toMatchObject({
      status: 422,
      body: { error: { code: 'already_signed_in' } },
    });
  await expectWell();
});

test('typed passwords share the login budget with the configured one', async () => {
  const { story, probe, ask } = await openPage({}, { password: 'not the password' });
  const { passwordGrants } = story.simulator.counters;
  expect(passwordGrants.asked).toBe(1);
  const type = (password: string) => ask('POST', '/home/password', { username: ME.username, password });
  // One more than the budget allows, once an hour, as with Poll now.
  expect(await type('wrong 1')).toMatchObject({
    status: 422,
    body: { error: { code: 'bad_credentials_or_locked' } },
  });
  for (let n = 2; n < 12; n += 1) expect((await type(`wrong ${n}`)).status).toBe(422);
  // What is not sent is not masked either: nobody can blank out the log.
  expect((await type('home')).status).toBe(422);
  expect((await type('x'.repeat(257))).status).toBe(400);
  expect(passwordGrants.asked).toBe(2);
  expect((await ask('GET')).body).toMatchObject([
    { budget: { refusals: 2, nextAttemptAt: expect.any(String), askedAt: expect.any(String) } },
  ]);
  await story.pass(50 * MINUTE_MS, MINUTE_MS);
  expect(passwordGrants.asked).toBe(2);
  await story.pass(11 * MINUTE_MS, MINUTE_MS);
  expect(await type(ME.password)).toMatchObject({ status: 200 });
  expect(story.logged('signed in from the page')).toMatchObject([{ account: 'home' }]);
  await story.pass(MINUTE_MS, 5_000);
  expect(probe.json(HEALTH)).toMatchObject({ auth: { home: { state: 'ok' } } });
});

test('where others may read along, no password is taken: device and link are left', async () => {
  const way = { 'x-forwarded-for': '192.0.2.1' };
  const { story, ask } = await openPage({ sign_in: 'device', redirect_uri: REDIRECT }, {}, way);
  expect((await ask('GET')).body).toMatchObject([{ methods: ['device', 'link'] }]);
  const typed = { username: ME.username, password: ME.password };
  expect(await ask('POST', '/home/password', typed)).toMatchObject({
    status: 403,
    body: { error: { code: 'not_encrypted' } },
  });
  expect((await ask('POST', '/other/password', typed)).status).toBe(404);
  expect(story.simulator.counters.passwordGrants.asked).toBe(0);
});

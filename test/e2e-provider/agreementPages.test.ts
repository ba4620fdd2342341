// The simulator's login page leads where the real Keycloak's leads: page ids, executions, marks and redirects compared.
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Simulator } from '../../src/simulator/provider.ts';
import {
  actionOf,
  Browser,
  executionOf,
  fieldsOf,
  hasId,
  type Page,
  pageIdOf,
  VERIFIER,
} from '../simulator/browser.ts';
import { openBoth, type Situation, token } from './both.ts';
import { oneTimeCode } from './person.ts';
import { CLIENT, ME, otpCredential, passwordCredential, REDIRECT_URI, type Settings } from './realm.ts';

const CLIENT_OF_THE_PAGE = {
  standardFlowEnabled: true,
  redirectUris: [REDIRECT_URI],
  attributes: { 'pkce.code.challenge.method': 'S256' },
};

function addressAt(issuer: string, changes: Record<string, string | undefined>): string {
  const usual = {
    response_type: 'code',
    client_id: CLIENT,
    redirect_uri: REDIRECT_URI,
    scope: 'openid service-energy',
    state: 'a-state',
    nonce: 'a-nonce',
    code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
    code_challenge_method: 'S256',
  };
  const given = Object.entries({ ...usual, ...changes }).filter(([, value]) => value !== undefined);
  return `${issuer}/protocol/openid-connect/auth?${new URLSearchParams(given as [string, string][])}`;
}

interface Options {
  readonly user?: Settings;
  readonly client?: Settings;
  readonly situation?: Situation;
  readonly changes?: Record<string, string | undefined>;
}

/** What a person does: from the first page to the last one. */
type Steps = (browser: Browser, first: Page) => Promise<Page>;

/** What decides of a page. Words, markup and addresses do not. */
function shapeOf(page: Page, first: Page) {
  const execution = actionOf(page) === '' ? null : executionOf(page);
  const isNamed = /^[A-Z_]+$/.test(execution ?? '');
  const isSame = execution === executionOf(first);
  return {
    status: page.status,
    pageId: pageIdOf(page),
    execution: execution === null ? 'none' : isNamed ? execution : isSame ? 'same' : 'another',
    marks: ['input-error-username', 'input-error-password', 'kc-error-message'].filter((id) =>
      hasId(page, id),
    ),
    message: page.html.includes('kc-feedback-text'),
    trail: page.trail.map((line) => line.replace(/ \S*\/(protocol|login-actions)\//, ' /$1/')),
    landedOn: page.location && `${page.location.origin}${page.location.pathname}`,
    answer: [...(page.location?.searchParams.keys() ?? [])].sort(),
    error: page.location?.searchParams.get('error') ?? null,
  };
}

async function compare({ user = {}, client = {}, situation, changes = {} }: Options, steps?: Steps) {
  const both = await openBoth({ user, client: { ...CLIENT_OF_THE_PAGE, ...client } });
  token({ pkceRequired: true, redirectUris: [REDIRECT_URI] })(both.simulator);
  if (situation) await both.arrange(situation);
  const issuers = [both.realm.issuer, both.simulator.urls.issuer];
  const [real, simulated] = await Promise.all(
    issuers.map(async (issuer) => {
      const browser = new Browser();
      const first = await browser.open(addressAt(issuer, changes));
      const last = steps ? await steps(browser, first) : first;
      return { shape: shapeOf(last, first), fields: fieldsOf(last) };
    }),
  );
  expect(simulated?.shape).toEqual(real?.shape);
  // A real page has some more.
  expect(real?.fields).toEqual(expect.arrayContaining(simulated?.fields ?? []));
  return real?.shape;
}

const signIn =
  (fields: Record<string, string> = {}): Steps =>
  (browser, first) =>
    browser.post(first, { ...ME, ...fields });

const state = (is: 'disabled' | 'not_fully_set_up') => (simulator: Simulator) =>
  simulator.switches.token.accountStates.set(ME.username, is);
const simulated = (fields: Parameters<typeof token>[0]): Situation => ({
  at: async () => undefined,
  simulated: token(fields),
});

test('the right password leads back with a code', async () => {
  const shape = await compare({}, signIn());
  expect(shape).toMatchObject({ status: 302, landedOn: REDIRECT_URI, error: null });
});

const USER_OFF: Situation = {
  at: ({ setUser }) => setUser({ enabled: false }),
  simulated: state('disabled'),
};
test.each<[string, Options, Record<string, string>]>([
  ['a wrong password', {}, { password: 'no' }],
  ['an unknown user', {}, { username: 'nobody@example.org' }],
  ['a disabled user', { situation: USER_OFF }, {}],
])('%s: the same page again', async (_, options, fields) => {
  const shape = await compare(options, signIn(fields));
  expect(shape).toMatchObject({ status: 200, execution: 'same', message: true });
});

const off = (client: Settings, fields: Parameters<typeof token>[0]): Options => ({
  situation: { at: ({ setClient }) => setClient(client), simulated: token(fields) },
});
const REALM_OFF: Situation = {
  at: ({ set }) => set({ enabled: false }),
  simulated: token({ realmEnabled: false }),
};
const NO_PKCE = { code_challenge: undefined, code_challenge_method: undefined };
test.each<[string, Options, string | undefined]>([
  ['an unknown client', { changes: { client_id: 'unknown' } }, undefined],
  ['another redirect address', { changes: { redirect_uri: 'https://elsewhere.example.org/' } }, undefined],
  ['a disabled client', off({ enabled: false }, { clientEnabled: false }), undefined],
  ['a disabled realm', { situation: REALM_OFF }, undefined],
  ['the flow off', off({ standardFlowEnabled: false }, { codeFlowAllowed: false }), 'unauthorized_client'],
  ['a scope that is not allowed', { changes: { scope: 'openid service-mistyped' } }, 'invalid_scope'],
  ['no PKCE', { changes: NO_PKCE }, 'invalid_request'],
])('%s: told at the first request', async (_, options, error) => {
  const shape = await compare(options);
  expect(shape).toMatchObject(error === undefined ? { status: 400 } : { status: 302, error });
});

const WITH_CODE: Options = {
  user: { credentials: [passwordCredential(ME.password), otpCredential()] },
  situation: simulated({ oneTimeCodes: new Map([[ME.username, () => oneTimeCode()]]) }),
};

test('a one-time code: asked for, refused, accepted', async () => {
  const wrong = () => (oneTimeCode() === '000000' ? '000001' : '000000');
  expect(await compare(WITH_CODE, signIn())).toMatchObject({ execution: 'another' });
  await compare(WITH_CODE, async (browser, first) =>
    browser.post(await signIn()(browser, first), { otp: wrong() }),
  );
  const shape = await compare(WITH_CODE, async (browser, first) =>
    browser.post(await signIn()(browser, first), { otp: oneTimeCode() }),
  );
  expect(shape).toMatchObject({ status: 302, landedOn: REDIRECT_URI, error: null });
});

test.each(['UPDATE_PASSWORD', 'CONFIGURE_TOTP', 'UPDATE_PROFILE', 'TERMS_AND_CONDITIONS'] as const)(
  'the required action %s',
  async (action) => {
    const situation: Situation = {
      async at({ allow, setUser }) {
        await allow(action);
        await setUser({ requiredActions: [action] });
      },
      simulated: token({ requiredActions: new Map([[ME.username, [action]]]) }),
    };
    await compare({ situation }, signIn());
  },
);

test('consent', async () => {
  const situation = simulated({ consentRequired: true });
  await compare({ client: { consentRequired: true }, situation }, signIn());
});

test('the user name on a page of its own, then the password, right or wrong', async () => {
  const situation: Situation = {
    at: ({ addOrganization }) => addOrganization(),
    simulated: token({ identityFirst: true }),
  };
  const byName: Steps = (browser, first) => browser.post(first, { username: ME.username });
  const password =
    (value: string): Steps =>
    async (browser, first) =>
      browser.post(await byName(browser, first), { password: value });
  await compare({ situation }, byName);
  await compare({ situation }, password('no'));
  expect(await compare({ situation }, password(ME.password))).toMatchObject({ error: null, status: 302 });
});

test('without cookies, and posted twice', async () => {
  await compare({}, (_, first) => signIn()(new Browser(), first));
  await compare({}, async (browser, first) => {
    await signIn({ password: 'no' })(browser, first);
    return signIn({ password: 'no' })(browser, first);
  });
});

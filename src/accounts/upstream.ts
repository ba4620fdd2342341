// One account's way to the provider: session, client and identity, from the configuration. Shared with the commands.
import { createHash } from 'node:crypto';
import { type Identity, readIdentity } from '../auth/claims.ts';
import { codeAt, type LoginDeps, type OneTimeCode, openLogin, type SignIn } from '../auth/login.ts';
import { openLoginBudget } from '../auth/loginBudget.ts';
import { asksForOffline, type IssuerMemory, openIssuer } from '../auth/oidc.ts';
import { openSession } from '../auth/session.ts';
import type { Account } from '../config/schema.ts';
import { totpParameters } from '../config/secret.ts';
import { timeWords, zone as zoneOf } from '../domain/period.ts';
import type { EntityContext } from '../domain/reading.ts';
import { Failure } from '../foundation/failure.ts';
import { createHttpClient, type Gate } from '../http/client.ts';
import { trustIn } from '../http/trust.ts';
import { openMonetization } from '../provider/monetization/monetization.ts';
import { PATHS } from '../provider/monetization/names.ts';
import { type Ask, createAsk, ProviderRefused, type Reply, UnexpectedReply } from '../provider/request.ts';
import {
  contextCodec,
  extrasCodec,
  loginBudgetCodec,
  type TokenSet,
  tokensCodec,
  wayInCodec,
} from '../store/documents.ts';
import { type Document, owned } from '../store/stateStore.ts';
import type { AccountContext } from './context.ts';

export type Upstream = ReturnType<typeof openUpstream>;

// RFC 6238 recommends 30 seconds; some providers take a minute.
const LONGEST_CODE_SECONDS = 60;

/** Who holds it may read, use and replace the account's tokens. */
const sessionLock = (account: string): string => `accounts/${account}/session`;

export function openUpstream(
  account: Account,
  context: Pick<
    AccountContext,
    'config' | 'state' | 'clock' | 'log' | 'scrubber' | 'openProvider' | 'scryptCost'
  >,
  options: {
    /** A command may run beside a daemon: it refreshes only what it can store for the daemon. */
    readonly isCommand?: boolean;
    /** Takes the session whatever scopes it was asked for with. */
    readonly anyScopes?: boolean;
    /** In place of `provider.sign_in`. */
    readonly signIn?: SignIn;
    /** Asks a person for a one-time code. */
    readonly askCode?: OneTimeCode;
    /** Shared by all accounts. */
    readonly issuerMemory?: IssuerMemory;
    /** Stands before each request to the one or the other. */
    readonly gate?: (to: 'issuer' | 'provider') => Gate;
    readonly onRequest?: (seen: { readonly ms: number; readonly ok: boolean }) => void;
    readonly onLogin?: () => void;
    readonly onRefresh?: () => void;
    readonly onChange?: () => void;
    readonly onReply?: (reply: Reply) => void;
  },
) {
  const { state, clock, log, scrubber } = context;
  const { provider, usage } = context.config;
  const zone = zoneOf(usage.timezone);
  if (!provider) throw new TypeError('an account without a provider passed the configuration');
  const caFile = provider.ca_file;
  const trust = caFile === undefined ? undefined : trustIn('provider.ca_file', caFile);
  const client = (gate?: Gate) => createHttpClient(clock, options.onRequest, gate, trust);
  const http = client(options.gate?.('provider'));
  const issuerHttp = options.gate ? client(options.gate('issuer')) : http;
  // The tokens of another user, client or address under the same account id must not be used.
  const provenance = JSON.stringify([provider.issuer, provider.client_id, provider.api_url]);
  const owner = createHash('sha256')
    .update(JSON.stringify([provenance, account.username]))
    .digest('base64url');
  const folder = `accounts/${account.id}`;
  // An e-mail address is personal; a plain user name may be a common word in the log.
  if (account.username.includes('@')) scrubber.register(account.username);

  const issuer = openIssuer({
    ...provider,
    codeSeconds: account.totp_secret ? LONGEST_CODE_SECONDS : null,
    fetch: issuerHttp.fetch,
    clock,
    log,
    memory: options.issuerMemory ?? { metadata: null },
  });
  const budget = openLoginBudget({
    store: state.document(`${folder}/login-budget`, loginBudgetCodec),
    clock,
    // In a fleet, which has gates.
    isOpenedForEachRun: options.gate !== undefined,
    ...(context.scryptCost === undefined ? {} : { scryptCost: context.scryptCost }),
  });
  const { username, totp_secret: totp } = account;
  const { redirect_uri: redirectUri, timeout_seconds: timeoutSeconds } = provider;
  const logInByForm =
    (redirectUri: string): LoginDeps['form'] =>
    (oneTimeCode, password, username) =>
      issuer.withScope(async (scope) => {
        const { signInByForm } = await import('../auth/form.ts');
        const { url: authorizationUrl, finish } = await issuer.beginCodeFlow(redirectUri, scope);
        const { send } = issuerHttp;
        const how = { redirectUri, timeoutSeconds, mayConsent: asksForOffline(scope), send, caFile, clock };
        const credentials = { username, password, oneTimeCode };
        return finish(await signInByForm({ authorizationUrl, ...how, ...credentials }));
      });
  const login = openLogin({
    issuer,
    form: redirectUri === undefined ? null : logInByForm(redirectUri),
    signIn: options.signIn ?? provider.sign_in,
    account,
    oneTimeCode: totp ? async () => codeFrom(await totp.read(), clock.now()) : (options.askCode ?? null),
    // What is as it always was is left out: a record on disk must not seem to be about other credentials.
    context: JSON.stringify([
      provenance,
      provider.scopes,
      ...(redirectUri ? [redirectUri] : []),
      ...(provider.sign_in === 'auto' ? [] : [provider.sign_in]),
      ...(areUsual(provider.claims) ? [] : [provider.claims]),
    ]),
    budget,
    timeWords: (instant) => timeWords(zone, instant, clock.now()),
    wayIn: owned(state.document(`${folder}/way-in`, wayInCodec), owner),
    log,
  });
  const withLock = <T>(step: (isHeld: boolean) => Promise<T>) =>
    state.withLock(sessionLock(account.id), clock, step);
  const tokens = owned(state.document(`${folder}/tokens`, tokensCodec), owner);
  const session = openSession({
    issuer,
    login,
    budget,
    wantsRefreshToken: provider.offline_access,
    tokens: options.anyScopes ? tokens : askedWith(issuer.scopes, tokens),
    clock,
    log,
    onLogin: options.onLogin,
    onRefresh: options.onRefresh,
    onChange: options.onChange,
    scrub: scrubber.registerToken,
    // The daemon goes on where no lock can be made, such as on a full disk: it is the one that keeps the session.
    withLock: (step) => withLock((isHeld) => step(isHeld || !options.isCommand)),
  });
  const api = {
    baseUrl: provider.api_url,
    timeoutSeconds,
    send: http.send,
    caFile,
    clock,
    accessToken: (rejected: readonly string[]) => session.accessToken(rejected),
    onReply: options.onReply,
  };
  const noting =
    (ask: Ask): Ask =>
    async (exchange) => {
      const found = await ask(exchange);
      await session.accepted();
      return found;
    };
  const ask = noting(createAsk(api));
  /** Rejects unless an access token is asked for there, as the API does and a web page does not. */
  async function reachApi(): Promise<void> {
    const { accessToken: _, onReply: __, ...withoutToken } = api;
    const what = 'first request to the API';
    const isRefused = await createAsk(withoutToken)({
      method: 'GET',
      path: PATHS.properties,
      what,
      notFound: NO_API,
    })
      .then(() => false)
      .catch((err: unknown) => {
        if (err instanceof ProviderRefused && ASKS_FOR_TOKEN.includes(err.status)) return true;
        throw err;
      });
    if (!isRefused)
      throw new UnexpectedReply(
        what,
        'that an access token is asked for',
        'an answer without one',
        NO_API.hint,
      );
  }
  /** Whose session it is, for a provider that reads by that. */
  const identity = async (): Promise<Identity> => {
    const accessToken = await session.accessToken();
    try {
      const found = readIdentity(accessToken, provider);
      scrubber.register(found.customerCode);
      return found;
    } catch (err) {
      // What the provider reads by is no fault of the session: as long as it is renewed, no login follows.
      const isKept = provider.keep_alive && session.isRenewable;
      if (err instanceof Failure && !isKept) await session.useless(err);
      throw err;
    }
  };
  return {
    issuer,
    session,
    login,
    budget,
    state,
    /** A login is asked for, whatever the budget says. Waits for one under way: it may end the refusal, or renew it. */
    askForLogin: () => withLock(() => budget.ask()),
    reachApi,
    identity,
    // The provider that this program reads: another one is a folder beside `monetization`.
    provider: (context.openProvider ?? openMonetization)({
      username,
      ask,
      // A person who asks for an extra wants the session to be renewed for it.
      askExtra: options.isCommand ? ask : noting(createAsk({ ...api, acceptsErrors: true })),
      identity,
      log,
    }),
    context: owned(state.document(`${folder}/context`, contextCodec), owner) as Document<EntityContext>,
    extras: owned(state.document(`${folder}/extras`, extrasCodec), owner),
  };
}

const ASKS_FOR_TOKEN: readonly number[] = [401, 403];
const NO_API = {
  message: 'Something answers at this address, but not the API (HTTP 404).',
  hint: 'Check provider.api_url: it ends where /reports/usage begins, mostly in /api/v1.',
};

const areUsual = ({ customer_code, site_code }: { customer_code: string; site_code: string }): boolean =>
  customer_code === 'customer_code' && site_code === 'sites';

async function codeFrom(secret: string, now: number): Promise<string | null> {
  const parameters = totpParameters(secret);
  return parameters ? codeAt(now, parameters) : null;
}

/** Tokens that were asked for with other scopes are not used: a correction of provider.scopes takes effect. */
function askedWith(scopes: readonly string[], tokens: Document<TokenSet>): Document<TokenSet> {
  const sorted = (some: readonly string[]) => [...some].sort().join(' ');
  return {
    async read() {
      const set = await tokens.read();
      // Earlier versions did not note them.
      const isSame = set?.scopes === undefined || sorted(set.scopes) === sorted(scopes);
      return isSame ? set : null;
    },
    write: (set) => tokens.write({ ...set, scopes }),
    remove: () => tokens.remove(),
  };
}

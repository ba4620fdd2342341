// One account's way to the provider: session, client and identity, from the configuration. Shared with the commands.
import { createHash } from 'node:crypto';
import { readIdentity } from '../auth/claims.ts';
import type { IssuerMemory } from '../auth/issuerClient.ts';
import { type Credentials, codeAt, Login, type OneTimeCode, type SignIn } from '../auth/login.ts';
import { LoginBudget } from '../auth/loginBudget.ts';
import { asksForOffline, Issuer } from '../auth/oidc.ts';
import { Session } from '../auth/session.ts';
import type { Grant } from '../auth/tokens.ts';
import type { Config, Account as ConfiguredAccount } from '../config/schema.ts';
import { totpParameters } from '../config/secret.ts';
import { timeWords, zone as zoneOf } from '../domain/period.ts';
import type { EntityContext } from '../domain/reading.ts';
import type { Clock } from '../foundation/clock.ts';
import { Failure } from '../foundation/failure.ts';
import { type ConcurrencyLimit, concurrencyLimit } from '../foundation/limits.ts';
import { createHttpClient, type Gate } from '../http/client.ts';
import { trustIn } from '../http/trust.ts';
import { openMonetization } from '../provider/monetization/monetization.ts';
import { PATHS } from '../provider/monetization/names.ts';
import type { Identity } from '../provider/provider.ts';
import { type Ask, createAsk, ProviderRefused, type Reply, UnexpectedReply } from '../provider/request.ts';
import {
  contextCodec,
  extrasCodec,
  loginBudgetCodec,
  type TokenSet,
  tokensCodec,
  wayInCodec,
} from '../store/documents.ts';
import { type Codec, type Document, type Owned, owned } from '../store/stateStore.ts';
import type { AccountContext } from './context.ts';

export type Upstream = ReturnType<typeof openUpstream>;

// RFC 6238 recommends 30 seconds; some providers take a minute.
const LONGEST_CODE_SECONDS = 60;

type Needs = Pick<
  AccountContext,
  'config' | 'state' | 'clock' | 'log' | 'scrubber' | 'openProvider' | 'scryptCost'
> &
  Partial<Pick<AccountContext, 'limit'>>;
type HttpClient = ReturnType<typeof createHttpClient>;
type ProviderSection = NonNullable<Config['provider']>;

interface Options {
  /** A command may run beside a daemon: it refreshes only what it can store for the daemon. */
  readonly isCommand?: boolean;
  /** Takes the session whatever scopes it was asked for with. */
  readonly anyScopes?: boolean;
  /** A sign-in that replaces `provider.sign_in`. */
  readonly signIn?: SignIn;
  /** Asks a person for a one-time code. */
  readonly askCode?: OneTimeCode;
  /** Shared by all accounts. */
  readonly issuerMemory?: IssuerMemory;
  /** Stands before each request to the one or the other. */
  readonly gate?: (to: 'issuer' | 'provider') => Gate;
  readonly onRequest?: (request: { readonly ms: number; readonly ok: boolean }) => void;
  readonly onLogin?: () => void;
  readonly onRefresh?: () => void;
  readonly onChange?: () => void;
  readonly onReply?: (reply: Reply) => void;
}

export function openUpstream(account: ConfiguredAccount, context: Needs, options: Options) {
  const { config, state, clock, log, scrubber, openProvider = openMonetization } = context;
  const inPlace = placesOf(context.limit ?? concurrencyLimit(1));
  const { provider: section } = config;
  if (!section) throw new TypeError('an account without a provider passed the configuration');
  const { id, username } = account;
  // An e-mail address is personal; a plain user name may be a common word in the log.
  if (username.includes('@')) scrubber.register(username);
  const documentOf = ownDocuments(account, section, state);
  /** Its holder may read, use and replace the account's tokens. */
  const withLock = <T>(step: (isHeld: boolean) => Promise<T>) =>
    state.withLock(`accounts/${id}/session`, clock, step);
  const { toIssuer, toApi } = openClients(section, clock, options);
  const parts = { section, toIssuer, documentOf, withLock };
  const { issuer, login, budget, session } = openSession(account, context, options, parts);
  const { ask, askExtra, reachApi } = openApi(section, {
    ...options,
    send: toApi.send,
    session,
    inPlace,
    clock,
  });
  const identity = (signal?: AbortSignal) => inPlace(signal, () => identityOf(session, section, scrubber));
  return {
    issuer,
    login,
    session,
    state,
    /** A login is asked for, whatever the budget says. Waits for one under way: it may end the refusal, or renew it. */
    askForLogin: () => withLock(() => budget.ask()),
    /** Resolves once there is an access token, whatever for. */
    signIn: (signal: AbortSignal) => inPlace(signal, () => session.accessToken()),
    reachApi,
    // The provider that this program reads: another one is a folder beside `monetization`.
    provider: openProvider({ username, ask, askExtra, identity, log }),
    listed: documentOf('context', contextCodec) as Document<EntityContext>,
    extras: documentOf('extras', extrasCodec),
  };
}

type DocumentOf = ReturnType<typeof ownDocuments>;

const provenanceOf = ({ issuer, client_id, api_url }: ProviderSection): string =>
  JSON.stringify([issuer, client_id, api_url]);

/** Other tokens under the same account id must not be used: those of another user, client or address. */
function ownDocuments({ id, username }: ConfiguredAccount, section: ProviderSection, state: Needs['state']) {
  const owner = createHash('sha256')
    .update(JSON.stringify([provenanceOf(section), username]))
    .digest('base64url');
  return <T>(name: string, codec: Codec<Owned<T>>): Document<T> =>
    owned(state.document(`accounts/${id}/${name}`, codec), owner);
}

interface SessionParts {
  readonly section: ProviderSection;
  readonly toIssuer: HttpClient;
  readonly documentOf: DocumentOf;
  readonly withLock: <T>(step: (isHeld: boolean) => Promise<T>) => Promise<T>;
}

/** The session, and the ways in which the account signs in for it. */
function openSession(
  account: ConfiguredAccount,
  { config, state, clock, log, scrubber, scryptCost }: Needs,
  options: Options,
  { section, toIssuer, documentOf, withLock }: SessionParts,
) {
  const issuer = new Issuer({
    ...section,
    codeSeconds: account.totp_secret ? LONGEST_CODE_SECONDS : null,
    fetch: toIssuer.fetch,
    clock,
    log,
    memory: options.issuerMemory ?? { metadata: null },
  });
  const budget = new LoginBudget({
    store: state.document(`accounts/${account.id}/login-budget`, loginBudgetCodec),
    clock,
    // Only a fleet has gates.
    isOpenedForEachRun: options.gate !== undefined,
    scryptCost,
  });
  const zone = zoneOf(config.usage.timezone);
  const login = new Login({
    issuer,
    form: openForm(section, issuer, toIssuer, clock),
    signIn: options.signIn ?? section.sign_in,
    account,
    oneTimeCode: codeOf(account, clock) ?? options.askCode ?? null,
    context: JSON.stringify([provenanceOf(section), ...loginMarks(section)]),
    budget,
    timeWords: (instant) => timeWords(zone, instant, clock.now()),
    wayIn: documentOf('way-in', wayInCodec),
    log,
  });
  const tokens = documentOf('tokens', tokensCodec);
  const session = new Session({
    issuer,
    login,
    budget,
    wantsRefreshToken: section.offline_access,
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
  return { issuer, login, budget, session };
}

function openClients(
  { ca_file: caFile }: ProviderSection,
  clock: Clock,
  { gate, onRequest }: Options,
): { readonly toApi: HttpClient; readonly toIssuer: HttpClient } {
  const trust = caFile === undefined ? undefined : trustIn('provider.ca_file', caFile);
  const client = (before?: Gate) => createHttpClient(clock, onRequest, before, trust);
  const toApi = client(gate?.('provider'));
  return { toApi, toIssuer: gate ? client(gate('issuer')) : toApi };
}

/** Defaults are left out, so that marks on a disk still match that were made before there was such a key. */
const loginMarks = ({ scopes, redirect_uri, sign_in, claims }: ProviderSection): unknown[] => [
  scopes,
  ...(redirect_uri ? [redirect_uri] : []),
  ...(sign_in === 'auto' ? [] : [sign_in]),
  ...(areUsual(claims) ? [] : [claims]),
];

/** `null`: none is registered for the client. */
function openForm(
  { redirect_uri: redirectUri, timeout_seconds: timeoutSeconds, ca_file: caFile }: ProviderSection,
  issuer: Issuer,
  { send }: HttpClient,
  clock: Clock,
): ((credentials: Credentials) => Promise<Grant>) | null {
  if (redirectUri === undefined) return null;
  return async (credentials) => {
    const { signInByForm } = await import('../auth/form.ts');
    return issuer.withScope(async (scope) => {
      const { url: authorizationUrl, finish } = await issuer.beginCodeFlow(redirectUri, scope);
      const callback = await signInByForm({
        ...credentials,
        authorizationUrl,
        redirectUri,
        mayConsent: asksForOffline(scope),
        send,
        timeoutSeconds,
        caFile,
        clock,
      });
      return finish(callback);
    });
  };
}

type InPlace = ReturnType<typeof placesOf>;

/** Steps that ask issuer and provider. Those whose signal has aborted while they waited for a place are not done. */
function placesOf(limit: ConcurrencyLimit) {
  return <T>(signal: AbortSignal | undefined, step: () => Promise<T>): Promise<T> =>
    limit(() => {
      signal?.throwIfAborted();
      return step();
    });
}

interface ApiParts extends Pick<Options, 'onReply' | 'isCommand'>, Pick<HttpClient, 'send'> {
  readonly session: Session;
  readonly inPlace: InPlace;
  readonly clock: Clock;
}

function openApi(section: ProviderSection, { send, session, inPlace, clock, onReply, isCommand }: ApiParts) {
  const api = {
    baseUrl: section.api_url,
    timeoutSeconds: section.timeout_seconds,
    send,
    caFile: section.ca_file,
    clock,
    accessToken: (rejected: readonly string[]) => session.accessToken(rejected),
    onReply,
  };
  // The place is taken for the token, too: the deadline of a request does not begin while it waits.
  const noting =
    (ask: Ask): Ask =>
    (exchange) =>
      inPlace(exchange.signal, async () => {
        const answer = await ask(exchange);
        await session.accepted();
        return answer;
      });
  const ask = noting(createAsk(api));
  return {
    ask,
    // A person who asks for an extra wants the session to be renewed for it.
    askExtra: isCommand ? ask : noting(createAsk({ ...api, acceptsErrors: true })),
    /** Rejects unless an access token is asked for there, as the API does and a web page does not. */
    async reachApi(): Promise<void> {
      const { accessToken: _, onReply: __, ...withoutToken } = api;
      const exchange = {
        method: 'GET',
        path: PATHS.properties,
        what: FIRST_REQUEST,
        notFound: NO_API,
      } as const;
      const isRefused = await createAsk(withoutToken)(exchange)
        .then(() => false)
        .catch((err: unknown) => {
          if (err instanceof ProviderRefused && ASKS_FOR_TOKEN.includes(err.status)) return true;
          throw err;
        });
      const [expected, found] = ['that an access token is asked for', 'an answer without one'];
      if (!isRefused) throw new UnexpectedReply(FIRST_REQUEST, expected, found, NO_API.hint);
    },
  };
}

const FIRST_REQUEST = 'first request to the API';
const ASKS_FOR_TOKEN: readonly number[] = [401, 403];
const NO_API = {
  message: 'Something answers at this address, but not the API (HTTP 404).',
  hint: 'Check provider.api_url: it ends where /reports/usage begins, mostly in /api/v1.',
};

/** The customer of the session, for a provider that reads by it. */
async function identityOf(
  session: Session,
  section: ProviderSection,
  scrubber: AccountContext['scrubber'],
): Promise<Identity> {
  const accessToken = await session.accessToken();
  try {
    const identity = readIdentity(accessToken, section);
    scrubber.register(identity.customerCode);
    return identity;
  } catch (err) {
    // A claim that the provider reads by is no fault of the session: as long as it is renewed, no login follows.
    const isKept = section.keep_alive && session.isRenewable;
    if (err instanceof Failure && !isKept) await session.useless(err);
    throw err;
  }
}

const areUsual = ({ customer_code, site_code }: { customer_code: string; site_code: string }): boolean =>
  customer_code === 'customer_code' && site_code === 'sites';

/** `null`: no secret makes its one-time codes. */
const codeOf = ({ totp_secret: secret }: ConfiguredAccount, clock: Clock): OneTimeCode | null =>
  secret
    ? async () => {
        const parameters = totpParameters(await secret.read());
        return parameters ? codeAt(clock.now(), parameters) : null;
      }
    : null;

/** Tokens that were asked for with other scopes are not used: a correction of provider.scopes takes effect. */
function askedWith(scopes: readonly string[], tokens: Document<TokenSet>): Document<TokenSet> {
  const sorted = (names: readonly string[]) => [...names].sort().join(' ');
  return {
    async read() {
      const set = await tokens.read();
      // Builds before 0.1.0 did not note them.
      const isSame = set?.scopes === undefined || sorted(set.scopes) === sorted(scopes);
      return isSame ? set : null;
    },
    write: (set) => tokens.write({ ...set, scopes }),
    remove: () => tokens.remove(),
  };
}

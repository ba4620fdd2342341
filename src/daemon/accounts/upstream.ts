// One account's way to the provider: session, client and identity, from the configuration. Shared with the commands.
import { createHash } from 'node:crypto';
import { type Identity, readIdentity } from '../../auth/claims.ts';
import { type Login, openLogin } from '../../auth/login.ts';
import { type LoginBudget, openLoginBudget } from '../../auth/loginBudget.ts';
import { type IssuerMemory, openIssuer } from '../../auth/oidc.ts';
import { openSession, type Session } from '../../auth/session.ts';
import type { TokenSet } from '../../auth/tokens.ts';
import type { Account, Config } from '../../config/schema.ts';
import type { Extras } from '../../domain/extras.ts';
import type { Clock } from '../../foundation/clock.ts';
import type { Log, Scrubber } from '../../foundation/log.ts';
import { HttpClient } from '../../http/client.ts';
import { openClient, type ProviderClient } from '../../provider/client.ts';
import type { EntityContext } from '../../provider/discovery.ts';
import { openRequest, type Reply } from '../../provider/request.ts';
import { type Document, owned } from '../../store/document.ts';
import { contextCodec, loginBudgetCodec, tokensCodec } from '../../store/documents.ts';
import { extrasCodec } from '../../store/extrasDocument.ts';
import type { StateDirectory } from '../../store/stateDirectory.ts';

export interface Upstream {
  readonly session: Session;
  readonly login: Login;
  readonly budget: LoginBudget;
  readonly client: ProviderClient;
  /** For what may be refused: no answer to it touches the session. */
  readonly extrasClient: ProviderClient;
  readonly context: Document<EntityContext>;
  readonly extras: Document<Extras>;
  /** Who the session speaks for. */
  identity(): Promise<Identity>;
}

export interface UpstreamParts {
  readonly config: Config;
  readonly account: Account;
  readonly state: StateDirectory;
  /** For a command beside the daemon: uses a valid access token, but neither refreshes nor keeps anything. */
  readonly readOnly?: boolean;
  /** What all accounts share of their issuer. */
  readonly issuerMemory: IssuerMemory;
  readonly clock: Clock;
  readonly log: Log;
  readonly scrubber: Scrubber;
  readonly onRequest: (seen: { readonly ms: number; readonly ok: boolean }) => void;
  readonly onLogin: () => void;
  readonly onRefresh: () => void;
  readonly onChange: () => void;
  readonly onReply?: (reply: Reply) => void;
}

export function openUpstream(parts: UpstreamParts): Upstream {
  const { config, account, state, clock, log } = parts;
  const { provider } = config;
  if (!provider) throw new TypeError('an account without a provider passed the configuration');
  const http = new HttpClient(clock, parts.onRequest);
  // Another user, client or address under the same account id must not meet the old one's tokens.
  const context = JSON.stringify([provider.issuer, provider.client_id, provider.api_url]);
  const owner = createHash('sha256')
    .update(JSON.stringify([context, account.username]))
    .digest('base64url');
  const folder = `accounts/${account.id}`;
  // An e-mail address is nobody's business; a plain name might be a common word of the log.
  if (account.username.includes('@')) parts.scrubber.register(account.username);

  const issuer = openIssuer({
    issuer: provider.issuer,
    clientId: provider.client_id,
    scopes: provider.scopes,
    timeoutSeconds: provider.timeout_seconds,
    // The configuration has refused plain http wherever it is not meant.
    allowInsecure: new URL(provider.issuer).protocol === 'http:',
    fetch: http.fetch,
    clock,
    memory: parts.issuerMemory,
  });
  const budget = openLoginBudget(state.document(`${folder}/login-budget`, loginBudgetCodec), clock);
  const login = openLogin(
    issuer,
    {
      username: account.username,
      readPassword: () => account.password.read(),
      context: JSON.stringify([context, provider.scopes]),
    },
    budget,
    log,
  );
  const tokens = owned(state.document(`${folder}/tokens`, tokensCodec), owner);
  const session = openSession({
    issuer,
    login,
    tokens: parts.readOnly ? readOnly(tokens) : tokens,
    clock,
    log,
    onLogin: parts.onLogin,
    onRefresh: parts.onRefresh,
    onChange: parts.onChange,
    scrub: parts.scrubber.registerToken,
  });
  const api = {
    baseUrl: provider.api_url,
    timeoutSeconds: provider.timeout_seconds,
    send: http.send,
    clock,
    key: (rejected: readonly string[]) => session.accessToken(rejected),
    onReply: parts.onReply,
  };
  return {
    session,
    login,
    budget,
    client: openClient(openRequest(api), log),
    extrasClient: openClient(openRequest({ ...api, acceptsErrors: true }), log),
    context: owned(state.document(`${folder}/context`, contextCodec), owner),
    extras: owned(state.document(`${folder}/extras`, extrasCodec), owner),
    async identity() {
      const identity = readIdentity(await session.accessToken(), provider.claims);
      parts.scrubber.register(identity.customerCode);
      return identity;
    },
  };
}

// With rotation a second user of the refresh token would end the daemon's session.
function readOnly(tokens: Document<TokenSet>): Document<TokenSet> {
  return {
    async read() {
      const set = await tokens.read();
      return set && { ...set, refreshToken: null };
    },
    write: async () => undefined,
    remove: async () => undefined,
  };
}

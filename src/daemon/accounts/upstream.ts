// One account's way to the provider: session, client and identity, from the configuration. Shared with the commands.
import { createHash } from 'node:crypto';
import { type Identity, readIdentity } from '../../auth/claims.ts';
import { Login } from '../../auth/login.ts';
import { LoginBudget } from '../../auth/loginBudget.ts';
import { Issuer, type IssuerMemory } from '../../auth/oidc.ts';
import { Session } from '../../auth/session.ts';
import type { TokenSet } from '../../auth/tokens.ts';
import type { Account } from '../../config/schema.ts';
import { HttpClient } from '../../http/client.ts';
import type { EntityContext } from '../../provider/discovery.ts';
import { createAsk, type Reply } from '../../provider/request.ts';
import { UsageDialect } from '../../provider/usageReport.ts';
import { contextCodec, extrasCodec, loginBudgetCodec, tokensCodec } from '../../store/documents.ts';
import { type Document, owned } from '../../store/stateDirectory.ts';
import type { Context } from '../context.ts';

export type Upstream = ReturnType<typeof openUpstream>;

const nothing = () => undefined;

export function openUpstream(
  account: Account,
  context: Pick<Context, 'config' | 'state' | 'clock' | 'log' | 'scrubber'>,
  options: {
    /** For a command beside the daemon: uses a valid access token, but neither refreshes nor stores anything. */
    readonly readOnly?: boolean;
    /** Shared by all accounts. */
    readonly issuerMemory?: IssuerMemory;
    readonly onRequest?: (seen: { readonly ms: number; readonly ok: boolean }) => void;
    readonly onLogin?: () => void;
    readonly onRefresh?: () => void;
    readonly onChange?: () => void;
    readonly onReply?: (reply: Reply) => void;
  },
) {
  const { state, clock, log, scrubber } = context;
  const { provider } = context.config;
  if (!provider) throw new TypeError('an account without a provider passed the configuration');
  const http = new HttpClient(clock, options.onRequest);
  // The tokens of another user, client or address under the same account id must not be used.
  const provenance = JSON.stringify([provider.issuer, provider.client_id, provider.api_url]);
  const owner = createHash('sha256')
    .update(JSON.stringify([provenance, account.username]))
    .digest('base64url');
  const folder = `accounts/${account.id}`;
  // An e-mail address is personal; a plain user name may be a common word in the log.
  if (account.username.includes('@')) scrubber.register(account.username);

  const issuer = new Issuer({
    issuer: provider.issuer,
    clientId: provider.client_id,
    scopes: provider.scopes,
    timeoutSeconds: provider.timeout_seconds,
    // The configuration refuses plain http where it is not allowed.
    allowInsecure: new URL(provider.issuer).protocol === 'http:',
    fetch: http.fetch,
    clock,
    memory: options.issuerMemory ?? { metadata: null },
  });
  const budget = new LoginBudget(state.document(`${folder}/login-budget`, loginBudgetCodec), clock);
  const login = new Login(
    issuer,
    {
      username: account.username,
      readPassword: () =>
        account.password?.read() ?? Promise.reject(new TypeError('an account without a password')),
      context: JSON.stringify([provenance, provider.scopes]),
    },
    budget,
    log,
  );
  const tokens = owned(state.document(`${folder}/tokens`, tokensCodec), owner);
  const session = new Session({
    issuer,
    login,
    tokens: options.readOnly ? readOnly(tokens) : tokens,
    clock,
    log,
    onLogin: options.onLogin ?? nothing,
    onRefresh: options.onRefresh ?? nothing,
    onChange: options.onChange ?? nothing,
    scrub: scrubber.registerToken,
  });
  const api = {
    baseUrl: provider.api_url,
    timeoutSeconds: provider.timeout_seconds,
    send: http.send,
    clock,
    accessToken: (rejected: readonly string[]) => session.accessToken(rejected),
    onReply(reply: Reply) {
      if (reply.status >= 200 && reply.status < 300) session.accepted();
      options.onReply?.(reply);
    },
  };
  const entities: Document<EntityContext> = owned(state.document(`${folder}/context`, contextCodec), owner);
  return {
    session,
    login,
    budget,
    /** A 401 refreshes the session. */
    ask: createAsk(api),
    /** Its requests may be refused without any effect on the session. */
    extrasAsk: createAsk({ ...api, acceptsErrors: true }),
    dialect: new UsageDialect(),
    log,
    context: entities,
    extras: owned(state.document(`${folder}/extras`, extrasCodec), owner),
    /** Whose session it is. */
    async identity(): Promise<Identity> {
      const identity = readIdentity(await session.accessToken(), provider.claims);
      scrubber.register(identity.customerCode);
      return identity;
    },
  };
}

// With rotation a second use of the refresh token would end the daemon's session.
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

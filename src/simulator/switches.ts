// Everything a test can turn on the running provider; the defaults are a provider on a good day.
import type { Exchange, Reply } from './exchange.ts';

type AccountState = 'active' | 'disabled' | 'not_fully_set_up';
export type RequiredAction =
  | 'UPDATE_PASSWORD'
  | 'CONFIGURE_TOTP'
  | 'UPDATE_PROFILE'
  | 'TERMS_AND_CONDITIONS'
  | 'VERIFY_EMAIL';
type ConstituencyShape = 'newer' | 'older' | 'third';

/** The faults that can happen on the way. */
export type Fault =
  /** This reply in place of the real one. */
  | ({ readonly kind: 'reply' } & Omit<Reply, 'body'> & Partial<Reply>)
  /** The real reply, its JSON changed. */
  | { readonly kind: 'change'; readonly change: (body: unknown) => unknown }
  /** Half of the real reply, as if that were all. */
  | { readonly kind: 'truncated' }
  /** Half of the real reply, then the connection breaks. */
  | { readonly kind: 'reset_mid_body' }
  /** The connection breaks before anything is done. */
  | { readonly kind: 'reset' }
  /** The request is carried out, its reply never arrives. */
  | { readonly kind: 'reply_lost' }
  /** Nothing ever comes. */
  | { readonly kind: 'hang' }
  /** The real reply, after that long on the simulator's clock. */
  | { readonly kind: 'slow'; readonly ms: number }
  /** The request is carried out at once, also when the client leaves; the reply comes so much later. */
  | { readonly kind: 'late'; readonly ms: number };

interface FaultRule {
  readonly times?: number;
  readonly method?: string;
  readonly when?: (exchange: Exchange) => boolean;
}

export class Switches {
  #faults: { readonly prefix: string; readonly fault: Fault; readonly rule: FaultRule; left: number }[] = [];

  readonly token = {
    accessSeconds: 1800,
    refreshSeconds: 2100,
    /** Longest life of a session, however often it is refreshed. */
    sessionMaxSeconds: 36_000,
    /** A refresh token serves once. */
    rotation: true,
    /** 401 up to Keycloak 26.5, 400 from 26.6. */
    wrongPasswordStatus: 401 as 400 | 401,
    /** After so many wrong passwords even the right one is wrong, for a quarter of an hour. */
    lockAfterWrongPasswords: Number.POSITIVE_INFINITY,
    /** Each username has a code that the field `totp` or the page for it wants; one that follows the time serves once. */
    oneTimeCodes: new Map<string, string | (() => string)>(),
    /** Each user gets so many sessions: one more is refused, and counted by the lock like a wrong password. */
    mostSessions: Number.POSITIVE_INFINITY,
    passwordGrantAllowed: true,
    codeFlowAllowed: true,
    /** The addresses at which the code flow may end. */
    redirectUris: ['https://portal.example.org/signed-in'] as string[],
    /** The client has to send a PKCE challenge, with S256. */
    pkceRequired: true,
    /** The code comes in the fragment, though it was not asked for there. */
    codeInFragment: false,
    /** The user has to agree to the client's access at each login. */
    consentRequired: false,
    /** Organizations are on: a page for the user name comes first, then one for the password. */
    identityFirst: false,
    /** The login form holds a puzzle, and is shown again without its solution. */
    hasCaptcha: false,
    /** Each username has things that the user has to do before the code flow ends. */
    requiredActions: new Map<string, readonly RequiredAction[]>(),
    /** The metadata names the device endpoint, which Keycloak does whether the client may use it or not. */
    deviceAdvertised: true,
    deviceAllowed: true,
    devicePollSeconds: 5,
    /**
     * Refused as a scope of the client, or to the user once logged in. `with_consent`: a refresh token is for offline_access
     * only, and that scope is ignored unless `prompt=consent` asks the user (OpenID Connect Core 11).
     */
    offlineAccess: 'allowed' as 'allowed' | 'scope_refused' | 'user_may_not' | 'with_consent',
    /** The token endpoint is elsewhere by now, as the metadata says; the old address answers that the realm does not exist. */
    hasMoved: false,
    clientEnabled: true,
    realmEnabled: true,
    /** The realm demands TLS: plain HTTP is refused. */
    tlsRequired: false,
    /** Another one stands for keys replaced at once: older tokens are worth nothing. */
    keyId: 'kQ3vVnWqk0-simulated',
    /** Tokens of another process of the simulator count too, with their sessions: it has neither its key nor its memory. */
    trustsOthers: false,
    clientId: 'self-care',
    scopes: ['openid', 'service-energy', 'profile', 'email', 'offline_access'] as string[],
    /** Epoch seconds; older tokens are stale. */
    notBefore: 0,
    /** Keys are usernames. */
    accountStates: new Map<string, AccountState>(),
    /** Claims over (or, when undefined, out of) the access token's own. */
    claims: {} as Record<string, unknown>,
  };

  readonly api = {
    /** The answer to a usage question about a property that was renumbered away. */
    retiredStatus: 404,
  };

  readonly site = { timezone: 'Europe/Dublin', currency: 'EUR' };

  readonly constituencies = {
    shape: 'newer' as ConstituencyShape,
    /** The first page comes whatever `skip` says. */
    repeatsFirstPage: false,
    /** HTTP 422 for a `skip` at or above this. */
    deepSkip: Number.POSITIVE_INFINITY,
  };

  /** The next `times` replies under a path prefix (`/api/v1/invoices`, `/auth/`, `/v1/`) go wrong this way. */
  fault(prefix: string, fault: Fault, rule: FaultRule = {}): { remove(): void } {
    const entry = { prefix, fault, rule, left: rule.times ?? Number.POSITIVE_INFINITY };
    this.#faults.push(entry);
    return {
      remove: () => {
        this.#faults = this.#faults.filter((other) => other !== entry);
      },
    };
  }

  clearFaults(): void {
    this.#faults = [];
  }

  /** The oldest fault that fits, which uses it up by one. */
  take(exchange: Exchange): Fault | undefined {
    const entry = this.#faults.find(
      ({ left, prefix, rule: { method = exchange.method, when } }) =>
        left > 0 &&
        exchange.path.startsWith(prefix) &&
        method === exchange.method &&
        (when?.(exchange) ?? true),
    );
    if (entry) entry.left -= 1;
    return entry?.fault;
  }
}

// The identity provider: realm `energy` with discovery, keys and the token endpoint.
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../foundation/clock.ts';
import type { Account } from '../accounts.ts';
import { type Counters, type Exchange, json, type Reply, type Route } from '../exchange.ts';
import type { Switches } from '../switches.ts';
import { publicKeys, type Session, Sessions, signed } from './sessions.ts';

export const REALM_PATH = '/auth/realms/energy';

export function providerMetadata(issuer: string): Record<string, unknown> {
  const endpoint = `${issuer}/protocol/openid-connect`;
  return {
    issuer,
    authorization_endpoint: `${endpoint}/auth`,
    token_endpoint: `${endpoint}/token`,
    introspection_endpoint: `${endpoint}/token/introspect`,
    userinfo_endpoint: `${endpoint}/userinfo`,
    end_session_endpoint: `${endpoint}/logout`,
    jwks_uri: `${endpoint}/certs`,
    revocation_endpoint: `${endpoint}/revoke`,
    grant_types_supported: [
      'authorization_code',
      'implicit',
      'refresh_token',
      'password',
      'client_credentials',
    ],
    response_types_supported: ['code', 'none', 'id_token', 'token', 'id_token token', 'code id_token'],
    response_modes_supported: ['query', 'fragment', 'form_post'],
    subject_types_supported: ['public', 'pairwise'],
    id_token_signing_alg_values_supported: ['PS384', 'ES384', 'RS384', 'HS256', 'ES256', 'RS256'],
    token_endpoint_auth_methods_supported: ['private_key_jwt', 'client_secret_basic', 'client_secret_post'],
    claims_supported: ['aud', 'sub', 'iss', 'auth_time', 'name', 'preferred_username', 'email', 'acr'],
    claim_types_supported: ['normal'],
    claims_parameter_supported: true,
    scopes_supported: ['openid', 'service-energy', 'profile', 'email', 'offline_access'],
    request_parameter_supported: true,
    code_challenge_methods_supported: ['plain', 'S256'],
    tls_client_certificate_bound_access_tokens: true,
  };
}

export interface KeycloakOptions {
  readonly clock: Clock;
  readonly origin: string;
  readonly accounts: readonly Account[];
  readonly switches: Switches;
  readonly counters: Counters;
}

export class Keycloak {
  readonly #options: KeycloakOptions;
  readonly #issuer: string;
  readonly sessions: Sessions;
  readonly #wrongPasswords = new Map<string, { count: number; lockedUntil: number }>();

  constructor(options: KeycloakOptions) {
    this.#options = options;
    this.#issuer = `${options.origin}${REALM_PATH}`;
    this.sessions = new Sessions(options.switches, this.#issuer);
  }

  routes(): Route[] {
    const at = (method: string, path: string, reply: (exchange: Exchange) => Reply): Route => {
      return { method, template: `${REALM_PATH}${path}`, reply };
    };
    return [
      at('GET', '/.well-known/openid-configuration', () => json(providerMetadata(this.#issuer))),
      at('GET', '/protocol/openid-connect/certs', () => json(publicKeys())),
      at('POST', '/protocol/openid-connect/token', ({ body }) => this.#token(body)),
    ];
  }

  #token(body: unknown): Reply {
    const form = (typeof body === 'object' && body !== null ? body : {}) as Record<
      string,
      string | undefined
    >;
    const { clientId, passwordGrantAllowed } = this.#options.switches.token;
    if (form.client_id !== clientId) {
      return failed(401, 'invalid_client', 'Invalid client or Invalid client credentials');
    }
    if (form.grant_type === 'refresh_token') return this.#refresh(form);
    if (form.grant_type !== 'password') {
      return failed(400, 'unsupported_grant_type', 'Unsupported grant_type');
    }
    if (!passwordGrantAllowed) {
      return failed(400, 'unauthorized_client', 'Client not allowed for direct access grants');
    }
    return this.#password(form);
  }

  #password({ username = '', password = '', scope = '' }: Record<string, string | undefined>): Reply {
    const { clock, switches, accounts } = this.#options;
    const asked = scope.split(' ').filter(Boolean);
    if (asked.some((one) => !switches.token.scopes.includes(one))) {
      return failed(400, 'invalid_scope', `Invalid scopes: ${scope}`);
    }
    const now = clock.now();
    const account = accounts.find((one) => one.username.toLowerCase() === username.toLowerCase());
    if (!account || !this.#passwordPasses(account, password, now)) {
      return failed(switches.token.wrongPasswordStatus, 'invalid_grant', 'Invalid user credentials');
    }
    const state = switches.token.accountStates.get(account.username) ?? 'active';
    if (state === 'disabled') return failed(400, 'invalid_grant', 'Account disabled');
    if (state === 'not_fully_set_up') return failed(400, 'invalid_grant', 'Account is not fully set up');
    this.#options.counters.granted('password');
    return this.#tokens(this.sessions.start(randomUUID(), account, asked, now), now);
  }

  /** While the lock holds, the right password is as wrong as any other, and said so in the same words. */
  #passwordPasses(account: Account, password: string, now: number): boolean {
    const { lockAfterWrongPasswords, lockSeconds } = this.#options.switches.token;
    const tries = this.#wrongPasswords.get(account.username) ?? { count: 0, lockedUntil: 0 };
    if (now < tries.lockedUntil) return false;
    if (password === account.password) {
      this.#wrongPasswords.delete(account.username);
      return true;
    }
    const count = tries.count + 1;
    const isLocked = count >= lockAfterWrongPasswords;
    const lockedUntil = isLocked ? now + lockSeconds * 1000 : 0;
    this.#wrongPasswords.set(account.username, { count: isLocked ? 0 : count, lockedUntil });
    return false;
  }

  #refresh({ refresh_token: token = '' }: Record<string, string | undefined>): Reply {
    const now = this.#options.clock.now();
    const outcome = this.sessions.refresh(token, now);
    if ('refusal' in outcome) return failed(400, 'invalid_grant', outcome.refusal);
    this.#options.counters.granted('refresh_token');
    return this.#tokens(outcome, now);
  }

  #tokens(session: Session, now: number): Reply {
    const { switches } = this.#options;
    const { accessSeconds, refreshSeconds, sessionMaxAnnounced, claims, withoutRefreshToken } =
      switches.token;
    const left = sessionMaxAnnounced ? this.sessions.secondsLeft(session, now) : Number.POSITIVE_INFINITY;
    const expiresIn = Math.min(accessSeconds, left);
    const refreshExpiresIn = Math.min(refreshSeconds, left);
    const { account, scopes } = session;
    const iat = Math.floor(now / 1000);
    const scope = ['email', 'profile', ...scopes].join(' ');
    const common = {
      iat,
      iss: this.#issuer,
      sub: account.userId,
      azp: switches.token.clientId,
      sid: session.id,
    };
    const about = { preferred_username: account.username, email: account.username, email_verified: true };
    const access = {
      ...common,
      exp: iat + expiresIn,
      jti: randomUUID(),
      aud: ['monetization', 'account'],
      typ: 'Bearer',
      acr: '1',
      scope,
      customer_code: account.customerCode,
      customer_id: account.customerId,
      sites: account.sites,
      ...about,
      ...claims,
    };
    const refresh = {
      ...common,
      exp: iat + refreshExpiresIn,
      jti: randomUUID(),
      aud: this.#issuer,
      typ: 'Refresh',
      scope,
    };
    const id = {
      ...common,
      exp: iat + expiresIn,
      jti: randomUUID(),
      aud: switches.token.clientId,
      typ: 'ID',
      ...about,
    };
    return json({
      access_token: signed(access),
      expires_in: expiresIn,
      ...(withoutRefreshToken
        ? {}
        : { refresh_expires_in: refreshExpiresIn, refresh_token: signed(refresh) }),
      token_type: 'Bearer',
      ...(scopes.includes('openid') ? { id_token: signed(id) } : {}),
      'not-before-policy': switches.token.notBefore,
      session_state: session.id,
      scope,
    });
  }
}

function failed(status: number, error: string, error_description: string): Reply {
  return json({ error, error_description }, status);
}

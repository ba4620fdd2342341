// The identity provider: realm `energy` with discovery, keys and the token endpoint.
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../foundation/clock.ts';
import type { Account } from '../accounts.ts';
import { type Counters, type Exchange, json, type Reply, type Route } from '../exchange.ts';
import type { Switches } from '../switches.ts';
import { publicKeys, type Session, Sessions, signed } from './sessions.ts';

type Form = Readonly<Record<string, string | undefined>>;

export const REALM_PATH = '/auth/realms/energy';

export class Keycloak {
  readonly sessions: Sessions;
  readonly #issuer: string;
  readonly #clock: Clock;
  readonly #accounts: readonly Account[];
  readonly #switches: Switches;
  readonly #counters: Counters;
  readonly #wrongPasswords = new Map<string, { count: number; lockedUntil: number }>();

  constructor(
    issuer: string,
    clock: Clock,
    accounts: readonly Account[],
    switches: Switches,
    counters: Counters,
  ) {
    this.#issuer = issuer;
    this.#clock = clock;
    this.#accounts = accounts;
    this.#switches = switches;
    this.#counters = counters;
    this.sessions = new Sessions(switches, issuer);
  }

  routes(): Route[] {
    const discovery = '/.well-known/openid-configuration';
    const at = (method: string, path: string, reply: (exchange: Exchange) => Reply): Route => {
      return { method, template: `${REALM_PATH}${path}`, reply };
    };
    return [
      at('GET', discovery, () => json(providerMetadata(this.#issuer))),
      at('GET', '/protocol/openid-connect/certs', () => json(publicKeys(this.#switches.token.keyId))),
      at('POST', '/protocol/openid-connect/token', ({ body }) => this.#token(Object(body))),
      {
        method: 'GET',
        template: `/auth/realms/:realm${discovery}`,
        reply: () => json({ error: 'Realm does not exist' }, 404),
      },
    ];
  }

  #token(form: Form): Reply {
    const { clientId, clientEnabled, passwordGrantAllowed, realmEnabled, tlsRequired } = this.#switches.token;
    if (tlsRequired) return failed(403, 'invalid_request', 'HTTPS required');
    if (!realmEnabled) return failed(403, 'access_denied', 'Realm not enabled');
    if (form.client_id !== clientId || !clientEnabled) {
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

  #password({ username = '', password = '', scope = '', totp }: Form): Reply {
    const { scopes, wrongPasswordStatus, accountStates } = this.#switches.token;
    const asked = scope.split(' ').filter(Boolean);
    if (asked.some((one) => !scopes.includes(one))) {
      return failed(400, 'invalid_scope', `Invalid scopes: ${scope}`);
    }
    const now = this.#clock.now();
    const account = this.#accounts.find((one) => one.username.toLowerCase() === username.toLowerCase());
    if (!account || !this.#passwordPasses(account, password, totp, now)) {
      return failed(wrongPasswordStatus, 'invalid_grant', 'Invalid user credentials');
    }
    const state = accountStates.get(account.username) ?? 'active';
    if (state === 'disabled') return failed(400, 'invalid_grant', 'Account disabled');
    if (state === 'not_fully_set_up') return failed(400, 'invalid_grant', 'Account is not fully set up');
    this.#counters.granted('password');
    return this.#tokens(this.sessions.start(randomUUID(), account, asked, now), now);
  }

  /** While the lock holds, or without the one-time code, the right password is refused in the words for a wrong one. */
  #passwordPasses(account: Account, password: string, totp: string | undefined, now: number): boolean {
    const { lockAfterWrongPasswords, lockSeconds, oneTimeCodes } = this.#switches.token;
    const { username } = account;
    const tries = this.#wrongPasswords.get(username) ?? { count: 0, lockedUntil: 0 };
    if (now < tries.lockedUntil) return false;
    const code = oneTimeCodes.get(username);
    if (password === account.password && (code === undefined || code === totp)) {
      this.#wrongPasswords.delete(username);
      return true;
    }
    const count = tries.count + 1;
    const isLocked = count >= lockAfterWrongPasswords;
    const lockedUntil = isLocked ? now + lockSeconds * 1000 : 0;
    this.#wrongPasswords.set(username, { count: isLocked ? 0 : count, lockedUntil });
    return false;
  }

  #refresh({ refresh_token: token = '' }: Form): Reply {
    const now = this.#clock.now();
    const outcome = this.sessions.refresh(token, now);
    if ('refusal' in outcome) return failed(400, 'invalid_grant', outcome.refusal);
    this.#counters.granted('refresh_token');
    return this.#tokens(outcome, now);
  }

  #tokens(session: Session, now: number): Reply {
    const { token } = this.#switches;
    const left = token.sessionMaxAnnounced
      ? this.sessions.secondsLeft(session, now)
      : Number.POSITIVE_INFINITY;
    const expiresIn = Math.min(token.accessSeconds, left);
    const refreshExpiresIn = Math.min(token.refreshSeconds, left);
    const { account, scopes } = session;
    const isOffline = scopes.includes('offline_access');
    const iat = Math.floor(now / 1000);
    const scope = ['email', 'profile', ...scopes].join(' ');
    const tokenOf = (claims: Record<string, unknown>) => {
      const common = { iat, iss: this.#issuer, sub: account.userId, azp: token.clientId, sid: session.id };
      return signed({ ...common, jti: randomUUID(), ...claims }, token.keyId);
    };
    const about = { preferred_username: account.username, email: account.username, email_verified: true };
    const access_token = tokenOf({
      exp: iat + expiresIn,
      aud: ['monetization', 'account'],
      typ: 'Bearer',
      acr: '1',
      scope,
      customer_code: account.customerCode,
      customer_id: account.customerId,
      sites: account.sites,
      ...about,
      ...token.claims,
    });
    const refresh_token = tokenOf({
      ...(isOffline ? { typ: 'Offline' } : { typ: 'Refresh', exp: iat + refreshExpiresIn }),
      aud: this.#issuer,
      scope,
    });
    const id_token = () => tokenOf({ exp: iat + expiresIn, aud: token.clientId, typ: 'ID', ...about });
    return json({
      access_token,
      expires_in: expiresIn,
      ...(token.withoutRefreshToken
        ? {}
        : { refresh_expires_in: isOffline ? 0 : refreshExpiresIn, refresh_token }),
      token_type: 'Bearer',
      ...(scopes.includes('openid') ? { id_token: id_token() } : {}),
      'not-before-policy': token.notBefore,
      session_state: session.id,
      scope,
    });
  }
}

function failed(status: number, error: string, error_description: string): Reply {
  return json({ error, error_description }, status);
}

function providerMetadata(issuer: string): Record<string, unknown> {
  const endpoint = `${issuer}/protocol/openid-connect`;
  return {
    issuer,
    authorization_endpoint: `${endpoint}/auth`,
    token_endpoint: `${endpoint}/token`,
    end_session_endpoint: `${endpoint}/logout`,
    jwks_uri: `${endpoint}/certs`,
    grant_types_supported: ['authorization_code', 'refresh_token', 'password'],
    response_types_supported: ['code', 'none', 'id_token', 'token', 'id_token token', 'code id_token'],
    response_modes_supported: ['query', 'fragment', 'form_post'],
    subject_types_supported: ['public', 'pairwise'],
    id_token_signing_alg_values_supported: ['PS384', 'ES384', 'RS384', 'HS256', 'ES256', 'RS256'],
    token_endpoint_auth_methods_supported: ['private_key_jwt', 'client_secret_basic', 'client_secret_post'],
    claims_supported: ['aud', 'sub', 'iss', 'auth_time', 'name', 'preferred_username', 'email', 'acr'],
    scopes_supported: ['openid', 'service-energy', 'profile', 'email', 'offline_access'],
    code_challenge_methods_supported: ['plain', 'S256'],
  };
}

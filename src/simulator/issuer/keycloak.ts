// The identity provider: realm `energy` with discovery, keys and the token endpoint.
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../foundation/clock.ts';
import type { Account } from '../accounts.ts';
import { type Counters, type Exchange, json, Refusal, type Reply, type Route } from '../exchange.ts';
import type { Switches } from '../switches.ts';
import { CodeFlow } from './codeFlow.ts';
import { DEVICE_GRANT, type Devices, openDevices } from './device.ts';
import {
  checkClient,
  checkScopes,
  type Form,
  failed,
  type Grant,
  grantedScopes,
  noGrant,
  openCredentials,
  openSessions,
  publicKeys,
  REALM_PATH,
  type Realm,
  signed,
  TOO_MANY_SESSIONS,
} from './realm.ts';

/** The token endpoint, and the one that revokes. */
class TokenEndpoint {
  private readonly realm: Realm;
  private readonly token: Switches['token'];
  private readonly codeFlow: CodeFlow;
  private readonly devices: Devices;

  constructor(realm: Realm, codeFlow: CodeFlow, devices: Devices) {
    this.realm = realm;
    this.token = realm.switches.token;
    this.codeFlow = codeFlow;
    this.devices = devices;
  }

  tokenFor(form: Form, exchange: Exchange): Reply {
    if (form.grant_type === 'refresh_token') return this.refresh(form);
    if (form.grant_type === 'password') return this.password(form, exchange);
    if (form.grant_type === 'authorization_code') return this.granted(this.codeFlow.redeem(form));
    if (form.grant_type === DEVICE_GRANT) return this.granted(this.devices.poll(form));
    throw failed(400, 'unsupported_grant_type', 'Unsupported grant_type');
  }

  private password({ username, password, scope = '', totp }: Form, exchange: Exchange): Reply {
    if (!this.token.passwordGrantAllowed)
      throw failed(400, 'unauthorized_client', 'Client not allowed for direct access grants');
    if (this.token.consentRequired) throw failed(400, 'invalid_client', 'Client requires user consent');
    checkScopes(scope, this.realm.switches);
    const account = this.realm.credentials.login(exchange, username, password, { totp });
    if (!account) throw failed(this.token.wrongPasswordStatus, 'invalid_grant', 'Invalid user credentials');
    if (this.realm.sessions.isFull(account, this.realm.clock.now())) {
      this.realm.credentials.refused(account);
      throw new Refusal(json({ error: TOO_MANY_SESSIONS }, 403));
    }
    this.realm.credentials.succeeded(account);
    const state = this.token.accountStates.get(account.username) ?? 'active';
    if (state === 'disabled') throw noGrant('Account disabled');
    if (state === 'not_fully_set_up' || this.token.requiredActions.get(account.username)?.length)
      throw noGrant('Account is not fully set up');
    const session = this.realm.sessions.start(
      account,
      grantedScopes(scope, this.realm.switches),
      this.realm.clock.now(),
    );
    const reply = this.granted({ session });
    this.realm.counters.passwordGrants.ok += 1;
    return reply;
  }

  private refresh({ refresh_token = '' }: Form): Reply {
    const session = this.realm.sessions.refresh(refresh_token, this.realm.clock.now());
    this.realm.counters.refreshGrants.ok += 1;
    return this.tokens({ session });
  }

  private granted(grant: Grant): Reply {
    const { account, scopes } = grant.session;
    if (this.token.accountStates.get(account.username) === 'disabled') throw noGrant('User disabled');
    if (scopes.includes('offline_access') && this.token.offlineAccess === 'user_may_not')
      throw failed(400, 'not_allowed', 'Offline tokens not allowed for the user or client');
    return this.tokens(grant);
  }

  /** RFC 7009: a token that is worth nothing is no error. */
  revoke({ token: revoked }: Form): Reply {
    if (revoked === undefined) throw failed(400, 'invalid_request', 'Token not provided');
    if (this.realm.sessions.end(revoked) !== true) throw failed(200, 'invalid_token', 'Invalid token');
    this.realm.counters.revocations += 1;
    return { status: 200, body: '' };
  }

  private tokens({ session, nonce }: Grant): Reply {
    const now = this.realm.clock.now();
    const { accessSeconds: expiresIn, refreshSeconds: refreshExpiresIn } = this.token;
    const { account, scopes } = session;
    const isOffline = scopes.includes('offline_access');
    const iat = Math.floor(now / 1000);
    const scope = ['email', 'profile', ...scopes].join(' ');
    const common = {
      iat,
      iss: this.realm.issuer,
      sub: account.userId,
      azp: this.token.clientId,
      sid: session.id,
    };
    const tokenOf = (claims: Record<string, unknown>) =>
      signed({ ...common, jti: randomUUID(), ...claims }, this.token.keyId);
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
      ...this.token.claims,
    });
    const refresh_token = tokenOf({
      ...(isOffline ? { typ: 'Offline' } : { typ: 'Refresh', exp: iat + refreshExpiresIn }),
      aud: this.realm.issuer,
      scope,
    });
    const id_token = () =>
      tokenOf({ exp: iat + expiresIn, aud: this.token.clientId, typ: 'ID', nonce, ...about });
    return json({
      access_token,
      expires_in: expiresIn,
      ...(this.token.offlineAccess === 'with_consent' && !isOffline
        ? {}
        : { refresh_expires_in: isOffline ? 0 : refreshExpiresIn, refresh_token }),
      token_type: 'Bearer',
      ...(scopes.includes('openid') ? { id_token: id_token() } : {}),
      'not-before-policy': this.token.notBefore,
      session_state: session.id,
      scope,
    });
  }
}

export function openKeycloak(
  issuer: string,
  clock: Clock,
  accounts: readonly Account[],
  switches: Switches,
  counters: Counters,
) {
  const { token } = switches;
  const sessions = openSessions(switches, issuer, accounts);
  const credentials = openCredentials(clock, accounts, switches, counters);
  const realm: Realm = { issuer, clock, switches, counters, sessions, credentials };
  const codeFlow = new CodeFlow(realm);
  const devices = openDevices(realm);
  const tokens = new TokenEndpoint(realm, codeFlow, devices);

  const at = (method: string, path: string, reply: (exchange: Exchange) => Reply): Route => ({
    method,
    template: `${REALM_PATH}${path}`,
    reply,
  });
  /** Serves endpoints that answer in JSON, after the checks of realm and client. */
  const post = (path: string, reply: (form: Form, exchange: Exchange) => Reply): Route =>
    at('POST', `/protocol/openid-connect${path}`, (exchange) => {
      const form: Form = Object(exchange.body);
      checkClient(form, switches);
      return reply(form, exchange);
    });
  const routes: Route[] = [
    at('GET', DISCOVERY, () => json(providerMetadata(issuer, switches))),
    at('GET', '/protocol/openid-connect/certs', () => json(publicKeys(token.keyId))),
    ...[false, true].map((hasMoved) =>
      post(tokenPath(hasMoved), (form, exchange) =>
        token.hasMoved === hasMoved ? tokens.tokenFor(form, exchange) : NO_REALM,
      ),
    ),
    post('/auth/device', devices.start),
    post('/revoke', (form) => tokens.revoke(form)),
    at('GET', '/protocol/openid-connect/auth', (exchange) => codeFlow.begin(exchange)),
    ...['authenticate', 'required-action', 'consent'].map((page) =>
      at('POST', `/login-actions/${page}`, (exchange) => codeFlow.post(exchange)),
    ),
    ...['authenticate', 'required-action'].map((page) =>
      at('GET', `/login-actions/${page}`, (exchange) => codeFlow.show(exchange)),
    ),
    { method: 'GET', template: `/auth/realms/:realm${DISCOVERY}`, reply: () => NO_REALM },
  ];
  return { routes, endSessions: sessions.endAll, person: devices.person };
}

const DISCOVERY = '/.well-known/openid-configuration';
const NO_REALM = json({ error: 'Realm does not exist' }, 404);
const tokenPath = (hasMoved: boolean): string => (hasMoved ? '/token-moved' : '/token');

function providerMetadata(issuer: string, { token }: Switches): Record<string, unknown> {
  const { deviceAdvertised, hasMoved } = token;
  const endpoint = `${issuer}/protocol/openid-connect`;
  return {
    issuer,
    authorization_endpoint: `${endpoint}/auth`,
    token_endpoint: `${endpoint}${tokenPath(hasMoved)}`,
    ...(deviceAdvertised ? { device_authorization_endpoint: `${endpoint}/auth/device` } : {}),
    revocation_endpoint: `${endpoint}/revoke`,
    jwks_uri: `${endpoint}/certs`,
    grant_types_supported: ['authorization_code', 'refresh_token', 'password', DEVICE_GRANT],
    authorization_response_iss_parameter_supported: true,
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

// What realm `energy` says about itself in its discovery document.

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

// Providers that are known from public sources: what a configuration needs to speak to each of them. Data, and nothing else.

/** Said wherever one of them is offered: this project is not affiliated with any of them. */
export const UNTRIED = 'known from public sources, not tried by us';

/**
 * `provider` and `usage` are pieces of a configuration: for the answers of `setup`, and for the option `provider: <id>` of the Home
 * Assistant app. `examples/<id>.yaml` has the same (a test compares). What the provider's own page shows counts more.
 */
export const KNOWN_PROVIDERS = [
  {
    id: 'yuno-energy',
    name: 'Yuno Energy Heat, formerly Kaizen Energy (Ireland)',
    source: 'https://github.com/Irishsmurf/pyyunoheat/blob/main/docs/yuno-energy-heat-api-documentation.md',
    provider: {
      issuer: 'https://app.tridenstechnology.com/auth/realms/kaizen-energy-sandbox',
      api_url: 'https://app.tridenstechnology.com/monetization/api/v1',
      client_id: 'mobile-yuno',
      scopes: ['openid', 'kaizen-energy'],
      // Registered by the provider for the client; without it only the password can be tried.
      redirect_uri: 'https://kaizen-energy.tridenstechnology.com/monetization/self-care/account',
    },
    usage: { timezone: 'Europe/Dublin' },
  },
];

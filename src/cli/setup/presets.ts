// Providers that `setup` knows, from public documentation only: their addresses are not confirmed. Data, and nothing else.

export const UNCONFIRMED = 'from public documentation, not confirmed';

export interface ProviderAnswers {
  readonly issuer: string;
  readonly api_url: string;
  readonly client_id: string;
  readonly scopes: readonly string[];
  /** An address that the provider has registered for the client; without it only the password can be tried. */
  readonly redirect_uri?: string;
}

export interface Preset {
  readonly name: string;
  /** Where it is documented. */
  readonly source: string;
  readonly provider: ProviderAnswers;
}

/**
 * None of them is affiliated with this project, or has promised that this works. What the provider's own page shows
 * counts, as examples/yuno-energy.yaml explains.
 */
export const PRESETS: readonly Preset[] = [
  {
    name: 'Yuno Energy Heat, formerly Kaizen Energy (Ireland)',
    source: 'https://github.com/Irishsmurf/pyyunoheat/blob/main/docs/yuno-energy-heat-api-documentation.md',
    provider: {
      issuer: 'https://app.tridenstechnology.com/auth/realms/kaizen-energy-sandbox',
      api_url: 'https://app.tridenstechnology.com/monetization/api/v1',
      client_id: 'mobile-yuno',
      scopes: ['openid', 'kaizen-energy'],
      redirect_uri: 'https://kaizen-energy.tridenstechnology.com/monetization/self-care/account',
    },
  },
];

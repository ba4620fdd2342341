// The keys of those we ask: the heat provider, the accounts there, and the public list of constituencies.
import * as z from 'zod';
import { currency, key, text, webAddress, wholeNumber } from './fields.ts';
import { secretKeys } from './secretKeys.ts';

const URL_WITHOUT_NAME = 'an https:// address without user name or password in it';

const claims = z.strictObject({
  customer_code: key(text.default('customer_code'), {
    description: 'The claim that holds the customer code.',
    example: 'customer_code',
    allowed: 'the name of a claim',
  }),
  site_code: key(text.default('sites'), {
    description: 'The claim that holds the site code or the list of them.',
    example: 'sites',
    allowed: 'the name of a claim',
  }),
});

export const providerSection = z
  .strictObject({
    issuer: key(webAddress, {
      description:
        'The OpenID issuer where the accounts log in. With Keycloak: <address>/realms/<realm>, without a slash at the end.',
      example: 'https://id.example.org/auth/realms/energy',
      allowed: URL_WITHOUT_NAME,
    }),
    api_url: key(webAddress, {
      description: 'Where usage reports and invoices are asked for.',
      example: 'https://api.example.org/api/v1',
      allowed: URL_WITHOUT_NAME,
    }),
    client_id: key(text, {
      description: 'The name under which the provider knows its own web page as an OpenID client.',
      example: 'self-care',
      allowed: 'a text',
    }),
    scopes: key(z.array(text).min(1).default(['openid', 'service-energy']), {
      description: 'The scopes asked for when logging in.',
      example: ['openid', 'service-energy'],
      allowed: 'a list of at least one scope',
    }),
    keep_alive: key(z.boolean().default(true), {
      description:
        'true: tokens are refreshed on a timer before they expire, and a login is rare. false: log in for each poll.',
      example: true,
    }),
    currency: key(currency.optional(), {
      description: "The currency of the provider's amounts. Default: what its site says, else EUR.",
      example: 'EUR',
      allowed: 'the three letters of a currency, such as EUR',
    }),
    claims: claims
      .prefault({})
      .meta({ description: 'Names of claims in the access token that lead to the usage reports.' }),
    timeout_seconds: key(z.number().positive().max(600).default(30), {
      description: 'How long one request to the provider may take, in seconds.',
      example: 30,
    }),
    allow_insecure: key(z.boolean().default(false), {
      description:
        'true: accept http:// addresses of other machines. Password and tokens then travel readable by anyone on the way.',
      example: false,
    }),
  })
  .meta({ description: 'The heat provider. Required when there are accounts.' });

export const account = z
  .strictObject({
    id: key(
      z
        .string()
        .regex(/^[a-z0-9_-]{1,64}$/)
        .optional(),
      {
        description:
          'Names the account in topics and file names. Required with several accounts; "home" when there is one.',
        example: 'home',
        allowed: 'lower-case letters, digits, _ and -, at most 64',
      },
    ),
    username: key(text, {
      description: "The name you log in with on the provider's web page.",
      example: 'me@example.org',
      allowed: 'a text',
      private: true,
    }),
    ...secretKeys('password', 'The password of the account', '/run/secrets/heat_password'),
  })
  .meta({ description: 'One login at the provider.' });

export const constituenciesSection = z
  .strictObject({
    base_url: key(webAddress.default('https://api.oireachtas.ie/v1'), {
      description: 'The open data service of the Houses of the Oireachtas.',
      example: 'https://api.oireachtas.ie/v1',
      allowed: 'an https:// or http:// address without user name or password in it',
    }),
    chamber: key(z.enum(['dail', 'seanad', '']).default('dail'), {
      description:
        'The chamber that is asked for when a request chooses no chamber and no house; empty for both.',
      example: 'dail',
    }),
    house_no: key(wholeNumber(1, 9999).optional(), {
      description: 'The number of the house that is asked for then. Without it, all houses of the chamber.',
      example: 34,
    }),
  })
  .meta({ description: 'The public list of constituencies. Needs no account. Fetched on request only.' });

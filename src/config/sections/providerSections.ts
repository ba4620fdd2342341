// The sections of what is asked: the heat provider, the accounts there, when and how usage is read, and the public
// list of constituencies.
import * as z from 'zod';
import { isMapping } from '../rawConfig.ts';
import { totpSecret } from '../secrets/totpSecret.ts';
import {
  address,
  calendarDate,
  choice,
  cronExpression,
  currency,
  flag,
  positiveNumber,
  redirectUri,
  secretKeys,
  section,
  text,
  timeZone,
  whenMapping,
  wholeNumber,
} from './values.ts';

const WEB = ['https:', 'http:'];
const HTTPS = 'an https:// address without user name or password in it';
const ENCRYPTED = 'https://, or http:// to this machine, or provider.allow_insecure: true';
const SCOPES = 'a list of at least one scope';
const NEEDS_REDIRECT_URI = `with sign_in form or link, an address registered for client_id (here or in HEAT2MQTT_PROVIDER_REDIRECT_URI); to find it, sign in on the provider's own page in a browser: the address bar of its login page carries redirect_uri=…, to be percent-decoded`;

/** The ways of signing in that use the password of the account, or may. */
export const WITH_PASSWORD = ['auto', 'password', 'form'] as const;
export const WAYS_TO_SIGN_IN = [...WITH_PASSWORD, 'device', 'link'] as const;

const claims = section({
  customer_code: text('the name of a claim')
    .default('customer_code')
    .describe('The claim that holds the customer code.'),
  site_code: text('the name of a claim')
    .default('sites')
    .describe('The claim that holds the site code or the list of them.'),
});

export const providerSection = section({
  issuer: address(WEB, HTTPS).meta({
    description:
      'The OpenID issuer where the accounts log in. With Keycloak: <address>/realms/<realm>, without a slash at the end.',
    examples: ['https://id.example.org/auth/realms/energy'],
  }),
  api_url: address(WEB, HTTPS).meta({
    description: 'Where usage reports and invoices are asked for.',
    examples: ['https://api.example.org/api/v1'],
  }),
  client_id: text().meta({
    description: 'The name under which the provider knows its own web page as an OpenID client.',
    examples: ['self-care'],
  }),
  scopes: z
    .array(text(), SCOPES)
    .min(1, SCOPES)
    .default(['openid', 'service-energy'])
    .describe('The scopes asked for when logging in.'),
  sign_in: choice(WAYS_TO_SIGN_IN, 'auto').describe(
    "How the accounts sign in. password: user name and password are sent to the issuer. form: they are filled into the provider's login page. device, link: a person signs in, with heat2mqtt login; no password is needed then. auto: password, and where the provider does not allow that, form.",
  ),
  redirect_uri: redirectUri.optional().meta({
    description:
      "An address that the provider has registered for client_id; sign_in form and link need it. The address bar of the provider's login page carries it as redirect_uri=…, percent-encoded.",
    examples: ['https://portal.example.org/'],
  }),
  offline_access: flag(false).describe(
    'true: ask for a session without an end, and agree where the login page asks for consent. Where the provider refuses that, the usual one is taken.',
  ),
  keep_alive: flag(true).describe(
    'true: tokens are refreshed on a timer before they expire, and a login is rare. false: log in for each poll. Default with fleet: false.',
  ),
  currency: currency.optional().meta({
    description: "The currency of the provider's amounts. Default: what its site says, else EUR.",
    examples: ['EUR'],
  }),
  claims: claims.prefault({}).describe('Names of claims in the access token that lead to the usage reports.'),
  timeout_seconds: positiveNumber(600, 30).describe(
    'How long one request to the provider may take, in seconds.',
  ),
  allow_insecure: flag(false).describe(
    'true: accept http:// addresses of other machines. Password and tokens then travel readable by anyone on the way.',
  ),
})
  .superRefine((provider, { addIssue }) => {
    for (const name of ['issuer', 'api_url'] as const) {
      if (provider.allow_insecure === false && isUnencrypted(provider[name]))
        addIssue({ code: 'custom', path: [name], message: ENCRYPTED });
    }
    const { sign_in, redirect_uri } = provider;
    if ((sign_in === 'form' || sign_in === 'link') && redirect_uri === undefined)
      addIssue({ code: 'custom', path: ['redirect_uri'], message: NEEDS_REDIRECT_URI });
  }, whenMapping)
  .describe('The heat provider. Required when there are accounts.');

// The address may be anything: this check also runs when other keys are wrong.
function isUnencrypted(address: unknown): boolean {
  if (typeof address !== 'string' || !URL.canParse(address)) return false;
  const { protocol, hostname } = new URL(address);
  return protocol === 'http:' && !/^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

const ID = 'lower-case letters, digits, _ and -, at most 64';

const account = section({
  id: z
    .string(ID)
    .regex(/^[a-z0-9_-]{1,64}$/, ID)
    .optional()
    .meta({
      description:
        'Names the account in topics and file names. Required with several accounts; "home" when there is one.',
      examples: ['home'],
    }),
  username: text().meta({
    description: "The name you log in with on the provider's web page.",
    examples: ['me@example.org'],
    private: true,
  }),
  history_since: calendarDate.optional().meta({
    description:
      'The first day that counts for this account, in place of usage.history_since: say, the day of moving in. Where a history exists already, its origin and its totals stay, and days before this one are left out of comparisons, forecasts, bill checks, the page and exports.',
    examples: ['2024-09-01'],
  }),
  ...secretKeys('password', 'The password of the account', '/run/secrets/heat_password'),
  ...secretKeys(
    'totp_secret',
    "The secret from which the account's one-time codes are computed, in base32 or as an otpauth:// address",
    '/run/secrets/heat_totp_secret',
    totpSecret,
  ),
}).describe('One login at the provider.');

export const accountsSection = z
  .array(account, 'a list')
  .default([])
  .superRefine(
    (accounts: readonly unknown[], { addIssue }) => {
      const ids = accounts.map((given) => (isMapping(given) ? given.id : null));
      for (const [n, id] of ids.entries()) {
        const path = [n, 'id'];
        const first = ids.indexOf(id);
        if (id === undefined && ids.length > 1)
          addIssue({ code: 'custom', path, message: 'with several accounts, a different id for each' });
        if (typeof id !== 'string' || first === n) continue;
        const found = `the id of accounts.${first} again`;
        addIssue({ code: 'custom', path, message: 'a different id for each account', params: { found } });
      }
    },
    { when: ({ value }) => Array.isArray(value) },
  )
  .describe('The logins at the provider, one or many. May be left out when only constituencies are wanted.');

export const usageSection = section({
  schedule: cronExpression
    .default('23 */4 * * *')
    .describe('When to ask the provider: a cron expression, in the time zone below.'),
  allow_fast_schedule: flag(false).describe(
    'true: accept a schedule that asks the provider more often than every 15 minutes.',
  ),
  timezone: timeZone
    .default('Europe/Dublin')
    .describe('The time zone of the site. Days, weeks and months are cut there.'),
  jitter_seconds: wholeNumber(0, 4 * 3600)
    .default(600)
    .describe(
      'Each installation asks up to this many seconds later, so that not all knock at once. Drawn once, then kept.',
    ),
  history_since: calendarDate.optional().meta({
    description:
      'The first day that counts for the totals. Default: 1 January two years back, then kept in the state directory.',
    examples: ['2024-01-01'],
  }),
  reread_days: wholeNumber(1, 366)
    .default(14)
    .describe('How many days are read again at each poll, for late and corrected readings.'),
  reading_closes: choice(['auto', 'same_day', 'previous_day'], 'auto').describe(
    'Which day a reading counts for: the day on which it is taken, or the day before. auto: the day before where readings are taken in the first hours of a day; looked at once, then kept in the state directory.',
  ),
  late_after_hours: positiveNumber(8784, 60).describe(
    'Data counts as late when the newest reading is older than this.',
  ),
  concurrency: wholeNumber(1, 64)
    .default(4)
    .describe('How many requests to the provider may be under way at once.'),
}).describe('Reading the usage.');

export const constituenciesSection = section({
  base_url: address(WEB, 'an https:// or http:// address without user name or password in it')
    .default('https://api.oireachtas.ie/v1')
    .describe('The open data service of the Houses of the Oireachtas.'),
  chamber: choice(['dail', 'seanad', ''], 'dail').describe(
    'The chamber that is asked for when a request chooses no chamber and no house; empty for both.',
  ),
  house_no: wholeNumber(1, 9999)
    .optional()
    .meta({
      description:
        'The number of the house that is asked for when a request names none. Without it, the sitting house of the chamber: the one with the highest number.',
      examples: [34],
    }),
}).describe('The public list of constituencies. Needs no account. Fetched on request only.');

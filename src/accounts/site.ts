// What the provider's site says of time zone and currency, against the configuration. Shared with the commands.
import type { Config } from '../config/schema.ts';
import type { Site } from '../domain/extras.ts';
import type { Reason } from '../domain/health.ts';

const USUAL_CURRENCY = 'EUR';

/** The configured one, else the site's. */
export const currencyOf = ({ provider }: Config, site: Site | null): string =>
  provider?.currency ?? site?.currency ?? USUAL_CURRENCY;

/** Differences are worth a look; whether they are mistakes only a person can tell. */
export function siteReasons({ provider, usage }: Config, site: Site | null): Reason[] {
  const reasons: Reason[] = [];
  if (site?.timezone && !isSameZone(site.timezone, usage.timezone)) {
    reasons.push({
      code: 'timezone_differs',
      message: `The provider's site is in ${site.timezone}, usage.timezone is ${usage.timezone}.`,
      hint: "Days are cut in usage.timezone. Set it to the site's, unless you know better.",
    });
  }
  if (site?.currency && provider?.currency && site.currency !== provider.currency) {
    reasons.push({
      code: 'currency_differs',
      message: `The provider's site counts in ${site.currency}, provider.currency is ${provider.currency}.`,
      hint: "Leave provider.currency out to follow the site's.",
    });
  }
  return reasons;
}

/** Time zones have several names. */
const isSameZone = (one: string, other: string): boolean => one === other || proper(one) === proper(other);
const proper = (timeZone: string): string =>
  new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone;

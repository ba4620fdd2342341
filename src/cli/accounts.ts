// The account that a command is about, and the currency of its amounts.
import type { Account } from '../config/schema.ts';
import { currencyOf } from '../daemon/accounts/site.ts';
import type { Upstream } from '../daemon/accounts/upstream.ts';
import { Failure } from '../foundation/failure.ts';
import { WrongUsage } from './command.ts';
import type { Settings } from './settings.ts';

/** The one of `--account`, else the first. Throws WrongUsage. */
export function pickAccount({ config }: Settings, option: unknown): Account {
  const account = option === undefined ? config.accounts[0] : config.accounts.find(({ id }) => id === option);
  if (account) return account;
  const known = config.accounts.map(({ id }) => id).join(', ') || 'none is configured';
  throw new WrongUsage(`--account: found ${String(option ?? 'nothing').slice(0, 40)}; allowed: ${known}.`);
}

/** As configured, as the daemon has heard, or as the provider says now; it need not. */
export async function findCurrency({ config }: Settings, upstream: Upstream): Promise<string> {
  const known = (await upstream.extras.read())?.site ?? null;
  if (config.provider?.currency || known || !config.extras.site)
    return currencyOf(config, known?.found ?? null);
  const site = await upstream.extrasClient.site().catch((err) => {
    if (err instanceof Failure) return null;
    throw err;
  });
  return currencyOf(config, site);
}

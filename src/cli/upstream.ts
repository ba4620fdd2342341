// The account that a command is about, and its way to the provider beside the running daemon.
import type { Account } from '../config/schema.ts';
import { currencyOf } from '../daemon/accounts/site.ts';
import { openUpstream, type Upstream } from '../daemon/accounts/upstream.ts';
import { Failure } from '../foundation/failure.ts';
import { readSite } from '../provider/discovery.ts';
import { StateDirectory } from '../store/stateDirectory.ts';
import { type Io, WrongUsage } from './command.ts';
import { openSilentLog, type Settings } from './settings.ts';

/** The account of `--account`, else the first. Throws WrongUsage. */
export function pickAccount({ config }: Settings, option: unknown): Account {
  const account = option === undefined ? config.accounts[0] : config.accounts.find(({ id }) => id === option);
  if (account) return account;
  const known = config.accounts.map(({ id }) => id).join(', ') || 'none is configured';
  throw new WrongUsage(`--account: found ${String(option ?? 'nothing').slice(0, 40)}; allowed: ${known}.`);
}

/** Shares the session with a running daemon. */
export async function openUpstreamBeside(
  settings: Settings,
  account: Account,
  io: Io,
  more: Omit<Parameters<typeof openUpstream>[2], 'isCommand'> = {},
): Promise<Upstream> {
  const { config, scrubber } = settings;
  const log = await openSilentLog(scrubber, io);
  const state = new StateDirectory(config.state_dir, log);
  return openUpstream(
    account,
    { config, state, clock: io.clock, log, scrubber },
    { isCommand: true, ...more },
  );
}

/** As configured, else as the daemon has stored it, else as the provider says now, if it does. */
export async function findCurrency({ config }: Settings, upstream: Upstream): Promise<string> {
  const known = (await upstream.extras.read())?.site ?? null;
  if (config.provider?.currency || known || !config.extras.site)
    return currencyOf(config, known?.found ?? null);
  const site = await readSite(upstream.extrasAsk).catch((err) => {
    if (err instanceof Failure) return null;
    throw err;
  });
  return currencyOf(config, site);
}

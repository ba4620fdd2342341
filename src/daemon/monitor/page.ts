// What the page gets to know of the daemon. Loaded with the first request for it.
import { hostname } from 'node:os';
import type { Account } from '../../accounts/account.ts';
import { meterViews } from '../../accounts/views.ts';
import type { Constituencies } from '../../constituencies/onDemand.ts';
import { about } from '../../foundation/about.ts';
import type { LogTail } from '../../foundation/log.ts';
import type { Link } from '../../mqtt/link.ts';
import type { Requests } from '../../mqtt/requests.ts';
import { within } from '../../web/addresses.ts';
import { createPage, type EnergyDashboardSource, type PageOptions } from '../../web/page.ts';
import { SignIns } from '../../web/signIn.ts';
import type { Context } from '../context.ts';
import { EnergyDashboard } from '../homeAssistant/energyDashboard.ts';
import type { Poller } from '../polling/poller.ts';
import type { BridgeStatus } from '../publishing/bridgeStatus.ts';
import { Documents } from './documents.ts';
import { ledgerCsv } from './ledgerCsv.ts';

export interface PageParts {
  readonly bridgeStatus: BridgeStatus;
  readonly constituencies: Constituencies | null;
  readonly link: Link;
  readonly requests: Requests;
  readonly logTail: LogTail;
  readonly report: () => Promise<string>;
  readonly accounts: readonly Account[];
  readonly poller: Poller;
}

export function openPage(
  { requests, logTail, report, accounts, poller, ...parts }: PageParts,
  forMetrics: Pick<PageOptions, 'metrics' | 'metricsRefused'>,
  context: Context,
) {
  const signIns = new SignIns({
    accounts,
    redirectUri: context.config.provider?.redirect_uri,
    signedIn: (account) => poller.retryNow(account, true),
    mask: context.scrubber.registerToken,
    iso: (instant) => context.zone.iso(instant),
    clock: context.clock,
    log: context.log,
  });
  const sources = {
    requests,
    logTail,
    report,
    documents: new Documents({ accounts, ...parts }, context),
    signIns,
    energyDashboard: energyDashboardOf(accounts, context),
    ledger(meter: string) {
      const view = accounts.flatMap(meterViews).find((one) => one.meter === meter);
      return view === undefined ? null : ledgerCsv(view);
    },
  };
  return { ...servePage(sources, forMetrics, context), stop: () => signIns.stop() };
}

export interface PageSources
  extends Pick<PageOptions, 'documents' | 'signIns' | 'energyDashboard' | 'ledger' | 'logTail' | 'report'> {
  readonly requests: Requests;
}

/** The listeners of a page that shows and asks these. */
export function servePage(
  { requests, ...sources }: PageSources,
  forMetrics: Pick<PageOptions, 'metrics' | 'metricsRefused'>,
  { config, clock, log }: Pick<Context, 'config' | 'clock' | 'log'>,
) {
  const { hosts = [], password, trusted_proxy: trustedProxy } = config.web || {};
  const own = hostname().toLowerCase();
  const shared = {
    ...sources,
    version: about.version,
    names: new Set([own, `${own}.local`, ...hosts.map((name) => name.toLowerCase())]),
    isTrustedProxy: within(trustedProxy),
    requests: {
      isKnown: (name: string) => requests.isKnown(name),
      answer: (name: string, payload: Buffer) => requests.answer(name, payload, () => {}),
    },
    ...forMetrics,
    clock,
    log,
  };
  return {
    listener: createPage({
      ...shared,
      isIngress: false,
      readPassword: password ? () => password.read() : null,
    }),
    ingress: createPage({ ...shared, isIngress: true, readPassword: null }),
  };
}

function energyDashboardOf(accounts: readonly Account[], context: Context): EnergyDashboardSource | null {
  const { home_assistant: section, mqtt } = context.config;
  if (section === undefined) return null;
  const dashboard = new EnergyDashboard(section, mqtt.base_topic, context.clock);
  const meters = () => accounts.flatMap((account) => account.meters ?? []);
  return {
    async look() {
      const { changed, refusals, cautions, digest } = await dashboard.look('add', meters());
      return { added: changed, refusals, cautions, digest };
    },
    add: (digest) => dashboard.apply('add', meters(), digest),
  };
}

// What the page gets to know of the daemon. Loaded with the first request for it.
import { hostname } from 'node:os';
import { chosenMonth } from '../../accounts/chosenMonth.ts';
import { accountView, meterViews } from '../../accounts/composition.ts';
import type { Constituencies } from '../../constituencies/onDemand.ts';
import { about } from '../../foundation/about.ts';
import type { LogTail } from '../../foundation/log.ts';
import type { Requests } from '../../mqtt/requests.ts';
import { pageWords, visitorsLanguage } from '../../publication/language.ts';
import { STATEMENT_STYLE_HASH, statementPage } from '../../publication/statement/page.ts';
import { statementOf } from '../../publication/statement/statement.ts';
import { createPage, type PageOptions } from '../../web/page.ts';
import { createSignIns } from '../../web/signIn.ts';
import { within } from '../../web/visitor.ts';
import { type Context, metersOf } from '../context.ts';
import { changeDashboard, lookAtDashboard } from '../homeAssistant/energyDashboard.ts';
import type { Poller } from '../polling/poller.ts';
import type { BridgeStatus } from '../publishing/bridgeStatus.ts';
import { followDocuments } from './documents.ts';
import { ledgerCsv } from './ledgerCsv.ts';

export interface PageParts {
  readonly bridgeStatus: BridgeStatus;
  readonly constituencies: Constituencies | null;
  readonly requests: Requests;
  readonly logTail: LogTail;
  readonly report: () => Promise<string>;
  readonly poller: Poller;
}

/** One listener for everyone, and one for whom Home Assistant has let in. */
export function openPage(
  { requests, logTail, report, poller, bridgeStatus, constituencies }: PageParts,
  forMetrics: Pick<PageOptions, 'metrics' | 'metricsRefused'>,
  context: Context,
) {
  const { accounts, config, clock, log, zone, scrubber } = context;
  const { hosts = [], password, trusted_proxy: trustedProxy } = config.web || {};
  const own = hostname().toLowerCase();
  const signIns = createSignIns({
    accounts,
    redirectUri: config.provider?.redirect_uri,
    signedIn: (account) => poller.retryNow(account, true),
    mask: scrubber.registerToken,
    iso: (instant) => zone.iso(instant),
    clock,
    log,
  });
  const shared = {
    ...forMetrics,
    version: about.version,
    names: new Set([own, `${own}.local`, ...hosts.map((name) => name.toLowerCase())]),
    isTrustedProxy: within(trustedProxy),
    requests: {
      isKnown: requests.isKnown,
      answer: (name: string, payload: Buffer) => requests.answer(name, payload, () => {}),
    },
    logTail,
    report,
    documents: followDocuments(bridgeStatus, constituencies, context),
    signInRoutes: signIns.routes,
    energyDashboard: energyDashboardOf(context),
    ledger(meter: string) {
      const view = accounts.flatMap(meterViews).find((one) => one.meter === meter);
      return view === undefined ? null : ledgerCsv(view);
    },
    statement: statementSource(context),
    words: (languages: string) => pageWords(visitorsLanguage(config.language, languages)),
    clock,
    log,
  };
  const readPassword = password ? () => password.read() : null;
  return {
    listener: createPage({ ...shared, isIngress: false, readPassword }),
    ingress: createPage({ ...shared, isIngress: true, readPassword: null }),
    stop: signIns.stop,
  };
}

function statementSource(context: Context): PageOptions['statement'] {
  const { language } = context.config;
  return ({ meter: name, month, languages }) => {
    const meter = metersOf(context).find((one) => (name ?? one.name) === one.name);
    const account = context.accounts.find(({ id }) => id === meter?.account);
    const view = meter?.view();
    if (!meter || !account || !view) return null;
    const facts = { meter: view, account: accountView(account, context) };
    const statement = statementOf(chosenMonth(meter.completeMonths(), month), facts);
    const page = statementPage(statement, visitorsLanguage(language, languages));
    return { page, style: STATEMENT_STYLE_HASH };
  };
}

function energyDashboardOf(context: Context): PageOptions['energyDashboard'] {
  const { home_assistant: section, mqtt } = context.config;
  if (section === undefined) return null;
  const deps = { section, baseTopic: mqtt.base_topic, clock: context.clock };
  return {
    async look() {
      const dashboard = await lookAtDashboard(deps, 'add', metersOf(context));
      const { changed, refusals, cautions, digest } = dashboard;
      return { added: changed, refusals, cautions, digest };
    },
    add: (digest) => changeDashboard(deps, 'add', metersOf(context), digest),
  };
}

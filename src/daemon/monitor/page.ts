// What the page gets to know of the daemon. Loaded with the first request for it.
import { hostname } from 'node:os';
import { accountView, chosenMonth, meterViews } from '../../accounts/composition.ts';
import type { Constituencies } from '../../constituencies/onDemand.ts';
import { about } from '../../foundation/about.ts';
import type { LogTail } from '../../foundation/log.ts';
import type { Requests } from '../../mqtt/requests.ts';
import { pageWords, visitorsLanguage } from '../../publication/language.ts';
import { STATEMENT_STYLE_HASH, statementPage } from '../../publication/statement/page.ts';
import { statementOf } from '../../publication/statement/statement.ts';
import type { DashboardChange } from '../../web/page/answers.ts';
import {
  bodyOf,
  createPage,
  download,
  type Exchange,
  fieldsOf,
  json,
  languagesOf,
  type PageOptions,
  type Reply,
  type Route,
  refuse,
  text,
} from '../../web/page.ts';
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
  readonly metrics: () => { readonly contentType: string; readonly text: string };
}

const NO_METER = refuse(404, 'unknown_meter', 'There is no such meter.');

/** One listener for everyone, and one for whom Home Assistant has let in. */
export function openPage(parts: PageParts, metricsRefused: PageOptions['metricsRefused'], context: Context) {
  const { accounts, config, clock, log, zone, scrubber } = context;
  const { bridgeStatus, constituencies, logTail, poller } = parts;
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
    version: about.version,
    names: new Set([own, `${own}.local`, ...hosts.map((name) => name.toLowerCase())]),
    isTrustedProxy: within(trustedProxy),
    logTail,
    documents: followDocuments(bridgeStatus, constituencies, context),
    words: (languages: string) => pageWords(visitorsLanguage(config.language, languages)),
    routes: [...signIns.routes, ...routesOf(parts, context), ...energyDashboardRoutes(context)],
    metricsRefused,
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

function routesOf({ requests, report, metrics }: PageParts, context: Context): Route[] {
  async function ask(exchange: Exchange): Promise<Reply> {
    const body = await requests.answer(exchange.name, await bodyOf(exchange), () => {});
    const status = requests.isKnown(exchange.name) ? 200 : 404;
    return { status, headers: { 'content-type': 'application/json' }, body };
  }

  function ledger({ query }: Exchange): Reply {
    const view = context.accounts.flatMap(meterViews).find(({ meter }) => meter === query.get('meter'));
    return view === undefined
      ? NO_METER
      : download(`heat2mqtt-${view.meter}.csv`, ledgerCsv(view), 'text/csv');
  }

  /** A page of its own, in the language of the visitor. Throws a Failure for a month that there is not. */
  function statement({ query, request }: Exchange): Reply {
    const meter = metersOf(context).find(({ name }) => name === (query.get('meter') ?? name));
    const account = context.accounts.find(({ id }) => id === meter?.account);
    const view = meter?.view();
    if (!meter || !account || !view) return NO_METER;
    const facts = { meter: view, account: accountView(account, context) };
    const month = chosenMonth(meter.completeMonths(), query.get('month') ?? undefined);
    const language = visitorsLanguage(context.config.language, languagesOf(request));
    const page = statementPage(statementOf(month, facts), language);
    return { ...text(page, 'text/html'), allows: `style-src '${STATEMENT_STYLE_HASH}'; form-action 'none'` };
  }

  function showMetrics(): Reply {
    const { contentType, text: body } = metrics();
    return { headers: { 'content-type': contentType }, body };
  }

  return [
    ['POST /request/:name', ask],
    ['GET /metrics', showMetrics],
    ['GET /ledger.csv', ledger],
    ['GET /statement', statement],
    ['GET /report.txt', async () => download('heat2mqtt-report.txt', await report(), 'text/plain')],
  ];
}

function energyDashboardRoutes(context: Context): Route[] {
  const { home_assistant: section, mqtt } = context.config;
  if (section === undefined) return [];
  const deps = { section, baseTopic: mqtt.base_topic, clock: context.clock };

  async function look(): Promise<Reply> {
    const dashboard = await lookAtDashboard(deps, 'add', metersOf(context));
    const { changed, refusals, cautions, digest } = dashboard;
    return json({ added: changed, refusals, cautions, digest } satisfies DashboardChange);
  }

  async function add(exchange: Exchange): Promise<Reply> {
    const { digest } = await fieldsOf(exchange);
    if (digest === undefined) return refuse(400, 'request_malformed', 'The digest is missing.');
    await changeDashboard(deps, 'add', metersOf(context), digest);
    return json({ state: 'done' });
  }

  return [
    ['GET /energy-dashboard', look],
    ['POST /energy-dashboard', add],
  ];
}

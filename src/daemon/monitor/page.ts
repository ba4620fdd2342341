// The page's view of the daemon: the retained documents as they stand, and the requests. Loaded with its first request.
import { hostname } from 'node:os';
import { chosenMonth } from '../../accounts/meter.ts';
import type { Constituencies } from '../../constituencies/onDemand.ts';
import { knownInFull } from '../../domain/amount.ts';
import { csv } from '../../domain/csv.ts';
import { periodSums } from '../../domain/totals.ts';
import { about } from '../../foundation/about.ts';
import type { LogTail } from '../../foundation/log.ts';
import type { Message } from '../../mqtt/message.ts';
import type { Requests } from '../../mqtt/requests.ts';
import type { Health } from '../../publication/messages.ts';
import { RetainedDiff } from '../../publication/retainedDiff.ts';
import { STATEMENT_STYLE_HASH, statementPage } from '../../publication/statement/page.ts';
import { statementOf } from '../../publication/statement/statement.ts';
import type { MeterView } from '../../publication/views.ts';
import type { DocumentSource, Listener } from '../../web/events.ts';
import { bodyOf, download, fieldsOf, json, type Routes, refuse, text } from '../../web/exchange.ts';
import type { BrokerState, DashboardChange } from '../../web/page/answers.ts';
import { createPage } from '../../web/page.ts';
import { createSignIns } from '../../web/signIn.ts';
import { within } from '../../web/visitor.ts';
import { type Context, metersOf } from '../context.ts';
import { energyDashboard } from '../homeAssistant/energyDashboard.ts';
import type { Household } from '../polling/household.ts';
import type { BridgeStatus } from '../publishing/bridgeStatus.ts';
import { BRIDGE, composer } from '../publishing/publisher.ts';
import { sharedDocuments } from './sharedDocuments.ts';

export interface PageParts {
  readonly bridgeStatus: BridgeStatus;
  readonly constituencies: Constituencies | null;
  readonly requests: Requests;
  readonly logTail: LogTail;
  readonly report: (health: Health) => Promise<string>;
  readonly household: Household;
  readonly metrics: () => { readonly contentType: string; readonly text: string };
}

const NO_METER = refuse(404, 'unknown_meter', 'There is no such meter.');

/** One listener for everyone, and one for whom Home Assistant has let in. */
export function openPage(parts: PageParts, context: Context) {
  const { accounts, config, clock, log, zone, scrubber } = context;
  const { hosts = [], password, trusted_proxy: trustedProxy } = config.web || {};
  const host = hostname().toLowerCase();
  const signIns = createSignIns({
    accounts,
    redirectUri: config.provider?.redirect_uri,
    signedIn: (account) => void parts.household.pollSoon(account, true),
    mask: scrubber.registerToken,
    iso: (instant) => zone.iso(instant),
    clock,
    log,
  });
  const shared = {
    version: about.version,
    names: new Set([host, `${host}.local`, ...hosts.map((name) => name.toLowerCase())]),
    isTrustedProxy: within(trustedProxy),
    logTail: parts.logTail,
    documents: followDocuments(parts, context),
    language: config.language,
    routes: { ...signIns.routes, ...routesOf(parts, context) },
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

function routesOf({ requests, report, metrics, bridgeStatus }: PageParts, context: Context): Routes {
  return {
    'POST /request/:name': async (exchange) => ({
      body: await requests.answer(exchange.name, await bodyOf(exchange), () => {}),
      status: requests.isKnown(exchange.name) ? 200 : 404,
      headers: { 'content-type': 'application/json' },
    }),
    'GET /metrics': () => {
      const { contentType, text: body } = metrics();
      return { headers: { 'content-type': contentType }, body };
    },
    'GET /report.txt': async () =>
      download('heat2mqtt-report.txt', await report(bridgeStatus.health()), 'text/plain'),
    'GET /ledger.csv': ({ query }) => {
      const meter = metersOf(context).find(({ name }) => name === query.get('meter'));
      const view = meter?.view();
      return view ? download(`heat2mqtt-${view.meter}.csv`, ledgerCsv(view), 'text/csv') : NO_METER;
    },
    // A page of its own. Throws a Failure for a month that there is not.
    'GET /statement': ({ query, language }) => {
      const meter = metersOf(context).find(({ name }) => name === (query.get('meter') ?? name));
      const account = context.accounts.find(({ id }) => id === meter?.account);
      const view = meter?.view();
      if (!meter || !account || !view) return NO_METER;
      const month = chosenMonth(meter.completeMonths(), query.get('month') ?? undefined);
      const statement = statementOf(month, { meter: view, account: account.view() });
      const issuedOn = view.zone.dayAt(context.clock.now());
      const page = statementPage([statement], language, issuedOn);
      const allows = `style-src '${STATEMENT_STYLE_HASH}'; form-action 'none'`;
      return { ...text(page, 'text/html'), allows };
    },
    ...dashboardRoutes(context),
  };
}

const CSV_HEAD = ['day', 'energy_kwh', 'cost', 'currency', 'revision', 'received_at'];

/** The days of a meter for a spreadsheet, oldest first; amounts unrounded. */
export function ledgerCsv({
  tenancy,
  currency,
  zone,
}: Pick<MeterView, 'tenancy' | 'currency' | 'zone'>): string {
  const rows = periodSums(tenancy, 'day', Number.POSITIVE_INFINITY).map((day) => [
    day.start,
    knownInFull(day.energy),
    knownInFull(day.cost),
    currency,
    day.revision,
    zone.iso(day.receivedAt),
  ]);
  return csv([CSV_HEAD, ...rows]);
}

function dashboardRoutes(context: Context): Routes {
  const { config, clock } = context;
  const section = config.home_assistant;
  if (!section) return {};
  const deps = { section, baseTopic: config.mqtt.base_topic, clock };
  const change = (agreed?: string) => energyDashboard(deps, 'add', metersOf(context), agreed);
  return {
    'GET /energy-dashboard': async () => {
      const { changed: added, refusals, cautions, digest } = await change();
      return json({ added, refusals, cautions, digest } satisfies DashboardChange);
    },
    'POST /energy-dashboard': async (exchange) => {
      const { digest } = await fieldsOf(exchange);
      if (digest === undefined) return refuse(400, 'request_malformed', 'The digest is missing.');
      await change(digest);
      return json({ state: 'done' });
    },
  };
}

/** The documents are composed for the readers from what is known now, so that no broker is needed. */
function followDocuments({ bridgeStatus, constituencies }: PageParts, context: Context): DocumentSource {
  const { accounts, signals, topics, link } = context;
  const shared = sharedDocuments(composer({ bridgeStatus, constituencies }, null, context), context.clock);
  /** Each has the owners whose documents may have changed since the reader took them. */
  const readers = new Map<Listener, Set<string>>();

  function tell(owner: string): void {
    shared.forget(owner);
    shared.forget(BRIDGE);
    for (const [on, changed] of readers) {
      // The bridge's own documents follow from its accounts.
      changed.add(owner).add(BRIDGE);
      on.changed();
    }
  }
  function broker(): BrokerState {
    const { connected, hasConnected } = link.status();
    if (connected) return 'connected';
    return hasConnected ? 'disconnected' : 'none';
  }
  const withoutBase = ({ topic, payload }: Message) => ({
    topic: topic.slice(topics.base.length + 1),
    payload,
  });
  signals.on('accountChanged', tell);
  signals.on('bridgeChanged', () => tell(BRIDGE));
  signals.on('passing', (message) => {
    const event = withoutBase(message);
    if (event.topic.endsWith('/event')) for (const on of readers.keys()) on.event(event);
  });
  signals.on('brokerChanged', () => {
    for (const on of readers.keys()) on.broker(broker());
  });
  return (on) => {
    const changed = new Set([BRIDGE, ...accounts.map(({ id }) => id)]);
    const reader = new RetainedDiff();
    readers.set(on, changed);
    on.broker(broker());
    return {
      take() {
        const [owner] = changed;
        if (owner === undefined) return null;
        changed.delete(owner);
        const news = reader.take(owner, shared.of(owner));
        // Until then a meter may not have been read yet.
        const gone = bridgeStatus.isComplete() ? reader.gone() : [];
        for (const message of gone) reader.delivered(message);
        return [...news, ...gone].map(withoutBase);
      },
      stop: () => void readers.delete(on),
    };
  };
}

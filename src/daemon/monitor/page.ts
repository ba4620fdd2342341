// What the page gets to know of the daemon. Loaded when somebody looks at it for the first time.
import { hostname } from 'node:os';
import { about } from '../../foundation/about.ts';
import type { LogTail } from '../../foundation/log.ts';
import type { Link } from '../../mqtt/link.ts';
import type { Requests } from '../../mqtt/requests.ts';
import { createPage, type PageOptions } from '../../web/page.ts';
import type { Context } from '../context.ts';
import type { Snapshot } from '../publishing/snapshot.ts';
import type { Constituencies } from '../requests/constituencies.ts';
import { Documents } from './documents.ts';
import { ledgerCsv } from './ledgerCsv.ts';

export interface PageParts {
  readonly snapshot: Snapshot;
  readonly constituencies: Constituencies | null;
  readonly link: Link;
  readonly requests: Requests;
  readonly logTail: LogTail;
  readonly report: () => Promise<string>;
}

export function openPage(
  { requests, logTail, report, ...parts }: PageParts,
  forMetrics: Pick<PageOptions, 'metrics' | 'metricsRefused'>,
  context: Context,
) {
  const { config, clock, log } = context;
  const { hosts = [], password, trusted_proxy: trustedProxy } = config.web || {};
  const own = hostname().toLowerCase();
  return createPage({
    version: about.version,
    names: new Set([own, `${own}.local`, ...hosts.map((name) => name.toLowerCase())]),
    trustedProxy,
    isIngress: false,
    readPassword: password ? () => password.read() : null,
    documents: new Documents(parts, context),
    logTail,
    report,
    ledger(meter) {
      const view = parts.snapshot.meters().find((one) => one.meter === meter);
      return view === undefined ? null : ledgerCsv(view);
    },
    requests: {
      isKnown: (name) => requests.isKnown(name),
      answer: (name, payload) => requests.answer(name, payload, () => {}),
    },
    ...forMetrics,
    clock,
    log,
  });
}

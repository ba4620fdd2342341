// What a run publishes of its account: all that differs from what was published last, of which digests are kept.
import { createHash } from 'node:crypto';
import type { Account, AccountOutcome } from '../../accounts/account.ts';
import { pageAddress } from '../../config/pageAddress.ts';
import type { Context } from '../../daemon/context.ts';
import { Events } from '../../daemon/publishing/events.ts';
import { Snapshot } from '../../daemon/publishing/snapshot.ts';
import { States } from '../../daemon/publishing/states.ts';
import type { Invoice } from '../../domain/invoice.ts';
import type { Message } from '../../mqtt/message.ts';
import { accountDocument, announce, meterDocument, platformsOf } from '../../publication/discovery.ts';
import { lateMessage } from '../../publication/meter.ts';
import { clear } from '../../publication/topics.ts';
import type { Published } from '../../store/database/published.ts';

const NOTHING: Published = { topics: {}, components: {}, late: [] };
const NO_POLLER = { troubles: [], refusal: () => null };
const NO_SCHEDULE = { nextPollAt: () => null };

/** What came of a run. */
export interface News {
  readonly outcome: AccountOutcome | null;
  readonly newInvoices: readonly Invoice[];
  /** The poll before this one failed. */
  readonly wasFailing: boolean;
}

/** `before`: what was published last; `null`: nothing, or nobody remembers it. */
export function compose(
  account: Account,
  news: News,
  before: Published | null,
  context: Context,
): { readonly messages: readonly Message[]; readonly published: Published } {
  const { config, topics, zone, clock } = context;
  const { discovery_prefix: prefix } = config.mqtt;
  const snapshot = new Snapshot([account], NO_POLLER, NO_SCHEDULE, null, context);
  const meters = snapshot.meters();
  const views = snapshot.accounts();
  const options = prefix === false ? null : { prefix, topics, page: pageAddress(config) };
  const documents = options
    ? [
        ...views.map((view) => accountDocument(options, view)),
        ...meters.map((meter) => meterDocument(options, meter)),
      ]
    : [];
  const known = before ?? NOTHING;
  const states = new States({ snapshot, constituencies: null }, topics);
  const retained = [
    ...documents.flatMap((document) => announce(document, known.components[document.topic])),
    ...views.flatMap((view) => states.ofAccount(view, meters, true)),
  ];
  const digests = Object.fromEntries(retained.map(({ topic, payload }) => [topic, digestOf(payload)]));
  // Until then a meter may only be read anew.
  const isComplete = snapshot.isComplete();
  const gone = isComplete ? Object.keys(known.topics).filter((topic) => !(topic in digests)) : [];
  const late = meters.filter((meter) => meter.late === true);
  const at = zone.iso(clock.now());
  return {
    messages: [
      ...retained.filter(({ topic, payload, step }) => step || known.topics[topic] !== digestOf(payload)),
      ...gone.map(clear),
      ...eventsOf(account, news, snapshot, context),
      ...late
        .filter(({ meter }) => before !== null && !known.late.includes(meter))
        .map(({ meter, readingAt }) =>
          lateMessage(topics, meter, readingAt === null ? null : zone.iso(readingAt), at),
        ),
    ],
    published: {
      topics: isComplete ? digests : { ...known.topics, ...digests },
      components: Object.fromEntries(documents.map((document) => [document.topic, platformsOf(document)])),
      late: late.map(({ meter }) => meter),
    },
  };
}

/** Withdraws whatever is on the broker of the account. */
export const withdraw = (before: Published | null): Message[] =>
  Object.keys(before?.topics ?? {})
    // Devices first: without them nobody misses the states.
    .sort((one, other) => Number(other.endsWith('/config')) - Number(one.endsWith('/config')))
    .map(clear);

function eventsOf(account: Account, news: News, snapshot: Snapshot, context: Context): Message[] {
  const { outcome, newInvoices, wasFailing } = news;
  const events = new Events([account], snapshot, context);
  const trouble = { account: account.id, fault: null, failuresInARow: 1, retryAt: null };
  return [
    ...(outcome === null ? [] : events.ofPoll(outcome, wasFailing ? trouble : undefined)),
    ...events.ofInvoices(account.id, newInvoices),
  ];
}

const digestOf = (text: string): string => createHash('sha1').update(text).digest('base64');

// Everything that is retained of one account: its devices, its states and its lists, each written only when it is asked for.
import type { Message } from '../mqtt/message.ts';
import { accountStateMessage, invoicesMessages } from '../publication/account.ts';
import { accountDocument, type DiscoveryOptions, meterDocument } from '../publication/discovery.ts';
import { meterStateMessage, usageMessages } from '../publication/meter.ts';
import type { Retained } from '../publication/retainedDiff.ts';
import type { Topics } from '../publication/topics.ts';
import type { AccountView, MeterView } from '../publication/views.ts';

/** `discovery`: `null` where no device is announced. */
export function composeAccount(
  view: AccountView,
  meters: readonly MeterView[],
  { topics, discovery }: { readonly topics: Topics; readonly discovery: DiscoveryOptions | null },
): Retained[] {
  const { account, invoices, checks, currency } = view;
  const documents = discovery && [
    accountDocument(discovery, view),
    ...meters.map((meter) => meterDocument(discovery, meter)),
  ];
  return [
    ...(documents ?? []).map((document) => ({ topic: document.topic, document })),
    {
      topic: topics.of('account/<account>/state', account),
      write: () => accountStateMessage(topics, view),
    },
    // The checks are new whenever the invoices are.
    ...(invoices === null
      ? []
      : lists([topics.of('account/<account>/invoices', account)], [checks, currency], () =>
          invoicesMessages(topics, view),
        )),
    ...meters.map((meter) => ({
      topic: topics.of('meter/<meter>/state', meter.meter),
      write: () => meterStateMessage(topics, meter),
    })),
    ...meters.flatMap((meter) => usage(meter, topics)),
  ];
}

function usage(view: MeterView, topics: Topics): Retained[] {
  const { meter, ledger, currency, readingCloses } = view;
  const names = [
    topics.of('meter/<meter>/history', meter),
    ...(['day', 'week', 'month'] as const).map((interval) =>
      topics.of('meter/<meter>/usage/<interval>', meter, interval),
    ),
  ];
  return lists(names, [ledger, currency, readingCloses], () => usageMessages(topics, view));
}

/** Messages that are written together, when the first of them is asked for. */
function lists(
  names: readonly string[],
  sources: readonly unknown[],
  writeAll: () => readonly Message[],
): Retained[] {
  let all: readonly Message[] | null = null;
  const write = (topic: string) => {
    all ??= writeAll();
    const found = all.find((message) => message.topic === topic);
    if (found === undefined) throw new TypeError('a list has no message');
    return found;
  };
  return names.map((topic) => ({ topic, sources, write: () => write(topic) }));
}

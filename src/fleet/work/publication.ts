// What a run publishes of its account: all that differs from what was published last, of which digests are kept.
import type { Account, AccountOutcome } from '../../accounts/account.ts';
import { composeAccount } from '../../accounts/composition.ts';
import type { AccountContext } from '../../accounts/context.ts';
import { eventsOfInvoices, eventsOfPoll } from '../../accounts/events.ts';
import { accountView, isIncomplete, meterViews } from '../../accounts/views.ts';
import { pageAddress } from '../../config/pageAddress.ts';
import type { Invoice } from '../../domain/invoice.ts';
import type { Message } from '../../mqtt/message.ts';
import { lateMessage } from '../../publication/meter.ts';
import { RetainedDiff } from '../../publication/retainedDiff.ts';
import type { Published } from '../../store/database/published.ts';

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
  { outcome, newInvoices, wasFailing }: News,
  before: Published | null,
  context: AccountContext,
): { readonly messages: readonly Message[]; readonly published: Published } {
  const { config, topics, zone, clock } = context;
  const { discovery_prefix: prefix } = config.mqtt;
  const meters = meterViews(account);
  const discovery = prefix === false ? null : { prefix, topics, page: pageAddress(config) };
  const diff = new RetainedDiff(before);
  const all = composeAccount(accountView(account, context), meters, { topics, discovery });
  const news = diff.take(account.id, all);
  // Until then a meter may only be read anew.
  const gone = isIncomplete(account) ? [] : diff.gone();
  for (const message of [...news, ...gone]) diff.delivered(message);
  const late = meters.filter((meter) => meter.late === true);
  const at = zone.iso(clock.now());
  return {
    messages: [
      ...news,
      ...gone,
      ...(outcome === null ? [] : eventsOfPoll(account, outcome, wasFailing, context)),
      ...eventsOfInvoices(account, newInvoices, context),
      ...late
        .filter(({ meter }) => before !== null && !before.late.includes(meter))
        .map(({ meter, readingAt }) =>
          lateMessage(topics, meter, readingAt === null ? null : zone.iso(readingAt), at),
        ),
    ],
    published: { ...diff.kept(), late: late.map(({ meter }) => meter) },
  };
}

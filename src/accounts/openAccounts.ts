// Opens the accounts of the configuration, with what they share.
import type { IssuerMemory } from '../auth/issuerClient.ts';
import { concurrencyLimit } from '../foundation/limits.ts';
import type { Gate } from '../http/client.ts';
import type { Reply } from '../provider/request.ts';
import { repliesCodec } from '../store/documents.ts';
import { Account } from './account.ts';
import type { AccountContext } from './context.ts';
import { AccountExtras } from './extras.ts';
import { openJournals } from './journal.ts';
import type { Meter } from './meter.ts';
import { SeriesNames } from './names.ts';
import type { Properties } from './properties.ts';
import { openReplyShapes } from './replyShapes.ts';
import { openUpstream } from './upstream.ts';

/** Shared by the accounts of a fleet beyond the process. */
export interface SharedInFleet {
  readonly names?: SeriesNames;
  readonly issuerMemory?: IssuerMemory;
  readonly gate?: (to: 'issuer' | 'provider') => Gate;
  /** Notes the shapes of replies. */
  readonly onReply?: (reply: Reply) => void;
}

/** `restore`: to be called with each meter that is opened. */
export async function openAccounts(
  context: AccountContext,
  restore: (meter: Meter) => Promise<void>,
  shared: SharedInFleet = {},
): Promise<Account[]> {
  const { config, counters, changed } = context;
  const { names = new SeriesNames(), issuerMemory = { metadata: null }, gate } = shared;
  // The rounds of extras of all accounts, one after the other.
  const extrasQueue = concurrencyLimit(1);
  const replies = context.state.document('replies', repliesCodec);
  const onReply = shared.onReply ?? (await openReplyShapes(replies, context));
  const journalOf = await openJournals(context);
  const accounts: Account[] = [];
  const ofAll: Properties[] = [];
  // Not all at once: of two properties with the same meter the first keeps its name.
  for (const account of config.accounts) {
    const { id } = account;
    const ofAccount = { ...context, log: context.log.child({ account: id }) };
    const journal = journalOf(id);
    const upstream = openUpstream(account, ofAccount, {
      issuerMemory,
      ...(gate ? { gate } : {}),
      onRequest(request) {
        journal.countRequest();
        counters.countRequest(request);
      },
      onLogin() {
        journal.countLogin();
        counters.logins += 1;
      },
      onRefresh() {
        counters.refreshes += 1;
      },
      onReply,
      onChange: () => changed(id),
    });
    const extras = await AccountExtras.open(id, { upstream, journal, queue: extrasQueue }, ofAccount);
    const parts = { upstream, journal, extras, names, ofAll, restore };
    const opened = await Account.open(id, parts, ofAccount);
    accounts.push(opened);
    ofAll.push(opened.properties);
  }
  // If two have the same property, the one that has its ledger keeps it, else the first.
  for (const account of accounts) await account.properties.openMeters();
  return accounts;
}

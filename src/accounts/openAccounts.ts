// Opens the accounts of the configuration, with what they share.
import type { IssuerMemory } from '../auth/oidc.ts';
import { concurrencyLimit } from '../foundation/limits.ts';
import type { Gate } from '../http/client.ts';
import type { Reply } from '../provider/request.ts';
import { repliesCodec } from '../store/documents.ts';
import { type Account, openAccount } from './account.ts';
import type { AccountContext } from './context.ts';
import { openExtras } from './extras.ts';
import type { Meter } from './meter.ts';
import { SeriesNames } from './names.ts';
import { openPollHistories } from './pollHistory.ts';
import { openReplyShapes } from './replyShapes.ts';
import { openUpstream } from './upstream.ts';

export async function openAccounts(
  context: AccountContext,
  /** To be called with each meter that is opened. */
  restore: (meter: Meter) => Promise<void>,
  /** What the accounts of a fleet share beyond these. */
  shared: {
    readonly names?: SeriesNames;
    readonly issuerMemory?: IssuerMemory;
    readonly gate?: (to: 'issuer' | 'provider') => Gate;
    /** Notes the shapes of replies. */
    readonly onReply?: (reply: Reply) => void;
  } = {},
): Promise<Account[]> {
  const { config, counters, changed } = context;
  const { names = new SeriesNames(), issuerMemory = { metadata: null }, gate } = shared;
  // The rounds of extras of all accounts, one after the other.
  const extrasQueue = concurrencyLimit(1);
  const replies = context.state.document('replies', repliesCodec);
  const onReply = shared.onReply ?? (await openReplyShapes(replies, context));
  const historyOf = await openPollHistories(context);
  const opened: Account[] = [];
  // In order: of two properties with the same meter the first keeps its name.
  for (const account of config.accounts) {
    const { id } = account;
    const own = { ...context, log: context.log.child({ account: id }) };
    const history = historyOf(id);
    const upstream = openUpstream(account, own, {
      issuerMemory,
      ...(gate ? { gate } : {}),
      onRequest(seen) {
        history.countRequest();
        counters.countRequest(seen);
      },
      onLogin() {
        history.countLogin();
        counters.logins += 1;
      },
      onRefresh() {
        counters.refreshes += 1;
      },
      onReply,
      onChange: () => changed(id),
    });
    const extras = await openExtras(id, { upstream, history, queue: extrasQueue }, own);
    opened.push(await openAccount(id, { upstream, history, extras, names, all: opened, restore }, own));
  }
  // When two have the same property, the one that has read it keeps it, else the first.
  for (const account of opened) await account.claimWhatItHasRead();
  for (const account of opened) await account.openKnownMeters();
  return opened;
}

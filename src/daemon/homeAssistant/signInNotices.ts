// A notification in Home Assistant for each account that waits for a person to sign in, dismissed once it is signed in again.
import type { Account } from '../../accounts/account.ts';
import { LoginSuspended } from '../../auth/loginSuspended.ts';
import { pageAddress } from '../../config/pageAddress.ts';
import { needsAPerson } from '../../domain/health.ts';
import { timeWords } from '../../domain/period.ts';
import { safeWords } from '../../foundation/failure.ts';
import { callNotification, standingNotifications } from '../../homeassistant/commands.ts';
import type { HomeAssistant } from '../../homeassistant/connection.ts';
import { ofOneQuestion } from '../../homeassistant/trouble.ts';
import type { Context } from '../context.ts';

// A trouble that many accounts share needs no notice for each of them.
const MOST_NOTICES = 10;
// A notice takes such an address as a path.
const IN_FRONTEND = /^homeassistant:\/\//;
const MINUTE_MS = 60_000;

export function signInNotices({ accounts, config, topics, zone, clock, log }: Context) {
  /** The code of what was told last, by account. */
  const codesTold = new Map<string, string>();
  const idOf = ({ id }: Account) => `${topics.base}/account/${id}/sign_in`;

  /** An untried session also reports ok, without a token that could be used. */
  const isSignedIn = ({ upstream: { session } }: Account): boolean =>
    session.status().state === 'ok' && session.hasUsableAccess;

  function messageFor({ upstream }: Account): string {
    const { fault } = upstream.session;
    const { nextAttemptAt } = upstream.session.status();
    const page = pageAddress(config);
    // The refusal's own words tell until when it waits, and that is said below.
    const isWaiting = fault instanceof LoginSuspended && fault.suspension.about === 'password';
    // Rounded up, so that the time that is told is not too early.
    const next = nextAttemptAt && timeWords(zone, nextAttemptAt + MINUTE_MS - 1, clock.now());
    const parts = [
      isWaiting ? 'The provider refused the last sign-in.' : fault?.message,
      fault?.hint,
      page && `[Open the bridge's page](${page.replace(IN_FRONTEND, '/')}) to sign in or to try again.`,
      next && `The next try by itself is at ${next}.`,
      'This notice goes away by itself once the account is signed in.',
    ];
    return parts.filter(Boolean).join('\n\n');
  }

  /** `standing`: the message that is there. */
  async function tell(home: HomeAssistant, account: Account, standing: string | undefined): Promise<void> {
    const { fault } = account.upstream.session;
    if (fault === null) return;
    const { code } = fault;
    // A notice that a person has dismissed is not sent again for a new time of the next try.
    if (standing === undefined && codesTold.get(account.id) === code) return;
    const message = messageFor(account);
    const title = `Heat account ${account.id} cannot sign in`;
    if (standing !== message)
      await callNotification(home, 'create', { notification_id: idOf(account), title, message });
    codesTold.set(account.id, code);
  }

  return {
    /** Home Assistant has restarted: it keeps no notification. */
    forget: () => codesTold.clear(),
    /** Rejects when the connection is of no use any more. Whatever else goes wrong is tried again at the next visit. */
    async deliver(home: HomeAssistant): Promise<void> {
      try {
        // Some may be from before a restart of this program.
        const standing = await standingNotifications(home);
        for (const account of accounts.filter(isSignedIn)) {
          codesTold.delete(account.id);
          if (standing.has(idOf(account)))
            await callNotification(home, 'dismiss', { notification_id: idOf(account) });
        }
        const waiting = accounts.filter(({ upstream }) => needsAPerson(upstream.session.status().state));
        for (const account of waiting.slice(0, MOST_NOTICES))
          await tell(home, account, standing.get(idOf(account)));
      } catch (err) {
        log.warn(safeWords(ofOneQuestion(err)), 'home assistant did not take the notices of sign-ins');
      }
    },
  };
}

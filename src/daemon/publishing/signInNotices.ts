// A notification in Home Assistant for each account that waits for a person to sign in, dismissed once it is signed in again.
import { LoginSuspended } from '../../auth/login.ts';
import { needsAPerson } from '../../domain/health.ts';
import { type Failure, safeWords } from '../../foundation/failure.ts';
import type { HomeAssistant } from '../../homeassistant/connection.ts';
import { dismiss, notify, standingNotifications } from '../../homeassistant/notifications.ts';
import { HomeAssistantTrouble } from '../../homeassistant/trouble.ts';
import type { Account } from '../accounts/account.ts';
import type { Context } from '../context.ts';

export class SignInNotices {
  readonly #accounts: readonly Account[];
  readonly #context: Context;
  /** By account, the code of what was told last: who dismisses it is not told the same again. */
  readonly #told = new Map<string, string>();

  constructor(accounts: readonly Account[], context: Context) {
    this.#accounts = accounts;
    this.#context = context;
  }

  /** To be called when Home Assistant has started anew: it keeps no notification. */
  forget(): void {
    this.#told.clear();
  }

  /** Rejects when the connection is of no use any more. Whatever else goes wrong is tried again at the next visit. */
  async deliver(home: HomeAssistant): Promise<void> {
    try {
      // Some may be from before a restart of this program.
      const standing = new Set(await standingNotifications(home));
      for (const account of this.#accounts) await this.#deliver(home, account, standing);
    } catch (err) {
      if (err instanceof HomeAssistantTrouble && (err.kind === 'cut' || err.kind === 'silent')) throw err;
      this.#context.log.warn(safeWords(err), 'home assistant did not take the notices of sign-ins');
    }
  }

  async #deliver(home: HomeAssistant, account: Account, standing: ReadonlySet<string>): Promise<void> {
    const { fault } = account.upstream.session;
    const { state } = account.upstream.session.status();
    const id = `${this.#context.topics.base}/account/${account.id}/sign_in`;
    if (needsAPerson(state) && fault !== null) {
      if (this.#told.get(account.id) === fault.code) return;
      await notify(home, { id, title: `Heat account ${account.id} cannot sign in`, message: textOf(fault) });
      this.#told.set(account.id, fault.code);
    } else if (this.#isSignedIn(account)) {
      this.#told.delete(account.id);
      if (standing.has(id)) await dismiss(home, id);
    }
  }

  /** A session that nobody has tried yet counts as well too, and is not signed in. */
  #isSignedIn({ upstream }: Account): boolean {
    const { state, accessExpiresAt } = upstream.session.status();
    return state === 'ok' && accessExpiresAt !== null && accessExpiresAt > this.#context.clock.now();
  }
}

function textOf(fault: Failure): string {
  // Its own words tell until when it waits, and would be out of date soon.
  const what = fault instanceof LoginSuspended ? 'The provider refused the last sign-in.' : fault.message;
  return [what, fault.hint ?? '', 'This notice goes away by itself once the account is signed in.'].join(
    '\n\n',
  );
}

// A notification in Home Assistant for each account that waits for a person to sign in, dismissed once it is signed in again.

import type { Account } from '../../accounts/account.ts';
import { LoginSuspended } from '../../auth/login.ts';
import { needsAPerson } from '../../domain/health.ts';
import { type Failure, safeWords } from '../../foundation/failure.ts';
import type { HomeAssistant } from '../../homeassistant/connection.ts';
import { dismiss, notify, standingNotifications } from '../../homeassistant/notifications.ts';
import { HomeAssistantTrouble } from '../../homeassistant/trouble.ts';
import type { Context } from '../context.ts';

// What many accounts have in common needs no notice for each of them.
const MOST_NOTICES = 10;

export class SignInNotices {
  readonly #accounts: readonly Account[];
  readonly #context: Context;
  /** The code of what was told last, by account: a notice that was dismissed is not sent again. */
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
      for (const account of this.#accounts.filter((one) => this.#isSignedIn(one))) {
        this.#told.delete(account.id);
        if (standing.has(this.#idOf(account))) await dismiss(home, this.#idOf(account));
      }
      const waiting = this.#accounts.filter(({ upstream }) => needsAPerson(upstream.session.status().state));
      for (const account of waiting.slice(0, MOST_NOTICES)) await this.#tell(home, account);
    } catch (err) {
      if (err instanceof HomeAssistantTrouble && (err.kind === 'cut' || err.kind === 'silent')) throw err;
      this.#context.log.warn(safeWords(err), 'home assistant did not take the notices of sign-ins');
    }
  }

  async #tell(home: HomeAssistant, account: Account): Promise<void> {
    const { id, upstream } = account;
    const { fault } = upstream.session;
    if (fault === null || this.#told.get(id) === fault.code) return;
    const title = `Heat account ${id} cannot sign in`;
    await notify(home, { id: this.#idOf(account), title, message: textOf(fault) });
    this.#told.set(id, fault.code);
  }

  #idOf({ id }: Account): string {
    return `${this.#context.topics.base}/account/${id}/sign_in`;
  }

  /** An untried session also reports ok: check its expiry. */
  #isSignedIn({ upstream }: Account): boolean {
    const { state, accessExpiresAt } = upstream.session.status();
    return state === 'ok' && accessExpiresAt !== null && accessExpiresAt > this.#context.clock.now();
  }
}

function textOf(fault: Failure): string {
  // Its own words tell until when it waits, and would be out of date soon.
  const isWaiting = fault instanceof LoginSuspended && fault.suspension.about === 'password';
  const what = isWaiting ? 'The provider refused the last sign-in.' : fault.message;
  return [what, fault.hint ?? '', 'This notice goes away by itself once the account is signed in.'].join(
    '\n\n',
  );
}

// What the issuer granted, seen from outside: which logins had to be, and how much of a token's life was over at each refresh.
import type { Simulator } from '../../src/simulator/provider.ts';

/** `daemonNow`: what the daemon's own clock shows; after a start it knows no other. */
export function openSessionBook(
  { counters, switches }: Simulator,
  now: () => number,
  daemonNow: () => number,
) {
  const { token } = switches;
  /** Logins although the session could have been kept, in words. */
  const needless: string[] = [];
  /** Refreshes before 80 % or after 95 % of a life, with nothing in the way. */
  const outOfTurn: string[] = [];
  let logins = counters.passwordGrants.ok;
  let refreshes = counters.refreshGrants.ok;
  let startedAt = Number.NEGATIVE_INFINITY;
  let grantedAt = Number.NEGATIVE_INFINITY;
  let isLost = true;
  let isDisturbed = true;

  function sawLogin(): void {
    const at = now();
    const lapsed = Math.max(at, daemonNow()) - grantedAt >= token.refreshSeconds * 1000;
    const over = at - startedAt >= token.sessionMaxSeconds * 1000;
    if (!isLost && !lapsed && !over) {
      needless.push(`${new Date(at).toISOString()}, ${(at - grantedAt) / 60_000} min after the last grant`);
    }
    startedAt = at;
  }

  function sawRefresh(): void {
    const share = (now() - grantedAt) / (token.accessSeconds * 1000);
    if (!isDisturbed && (share < 0.8 || share > 0.95)) {
      outOfTurn.push(`${new Date(now()).toISOString()}: ${Math.round(share * 100)} %`);
    }
  }

  const book = {
    /** While it is true no answer arrives whole: what is granted, and the token it was granted for, are gone. */
    spoilt: false,
    /** To be called often: looks at what has been granted since. */
    look() {
      const newLogins = counters.passwordGrants.ok - logins;
      const newRefreshes = counters.refreshGrants.ok - refreshes;
      logins += newLogins;
      refreshes += newRefreshes;
      if (newRefreshes > 0) sawRefresh();
      if (newRefreshes > 1) outOfTurn.push(`${newRefreshes} refreshes at once`);
      if (newLogins > 0) sawLogin();
      if (newLogins > 1 && !book.spoilt) needless.push(`${newLogins} logins at once`);
      if (newLogins + newRefreshes === 0) return;
      grantedAt = now();
      isDisturbed = book.spoilt;
      isLost = book.spoilt;
    },
    /** The session is gone for a reason that is not the daemon's. */
    lost() {
      isLost = true;
      isDisturbed = true;
    },
    /** A token may be renewed out of turn now: a restart, a jump of the clock, an outage. */
    disturbed() {
      isDisturbed = true;
    },
    get logins() {
      return logins;
    },
    get refreshes() {
      return refreshes;
    },
    needless,
    outOfTurn,
  };
  return book;
}

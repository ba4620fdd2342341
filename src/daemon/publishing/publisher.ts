// News for the broker: several changes of one moment are one publication, and many accounts a few at a time.
import type { Clock } from '../../foundation/clock.ts';
import type { Link } from '../../mqtt/link.ts';
import type { Message } from '../../mqtt/message.ts';
import type { Announcer } from './announce.ts';
import type { Events } from './events.ts';
import { openShare } from './share.ts';

export interface News {
  /** Something of this account has changed; without one, anything may have. */
  publish(account?: string): void;
  /** The bridge alone may have changed. */
  publishBridge(): void;
  /** Says at once what the bridge has to say of itself. */
  sayBridge(): void;
  /** What to say first when everything is to be said, changed or not; of many accounts the others follow. */
  everything(): readonly Message[];
  /** Everything is wired: from now on there is somebody to say it. */
  open(): void;
  /** The broker has taken what was on its way. */
  resume(): void;
}

export interface NewsParts {
  readonly accountIds: readonly string[];
  /** There once everything is wired. */
  readonly voices: () => { readonly announcer: Announcer; readonly events: Events; readonly link: Link };
  readonly clock: Clock;
}

// Some milliseconds of work, so that nothing else waits long.
const AT_ONCE = 20;
// On their way to the broker: what else there is to say is composed once it has taken these.
const MOST_WAITING = 500;

export function openNews({ accountIds, voices, clock }: NewsParts): News {
  const changed = new Set<string>();
  let bridgeChanged = false;
  // What the bridge says of itself grows with the accounts.
  const bridgeShare = openShare(clock);
  let isResting = false;
  let isPlanned = true;

  function plan(): void {
    if (isPlanned) return;
    isPlanned = true;
    setImmediate(turn);
  }

  function turn(): void {
    isPlanned = false;
    if (voices().link.status().waiting >= MOST_WAITING) return;
    const some = take();
    const rest = bridgeShare.restMs();
    const withBridge = bridgeChanged && changed.size === 0 && rest <= 0;
    if (withBridge) bridgeChanged = false;
    const end = withBridge ? bridgeShare.begin() : null;
    if (some.length > 0 || withBridge) say(some, withBridge);
    end?.();
    if (changed.size > 0) plan();
    else if (bridgeChanged) void restBridge(rest);
  }

  async function restBridge(ms: number): Promise<void> {
    if (isResting) return;
    isResting = true;
    await clock.sleep(ms);
    isResting = false;
    plan();
  }

  function take(): readonly string[] {
    const some: string[] = [];
    for (const account of changed) {
      if (some.length === AT_ONCE) break;
      some.push(account);
    }
    for (const account of some) changed.delete(account);
    return some;
  }

  function say(accounts: readonly string[], withBridge: boolean): void {
    const { announcer, events, link } = voices();
    // The first connection begins with everything; news that waited for it could be older than the broker's memory.
    if (link.status().lastConnectedAt === null) return;
    link.publish([...announcer.news(accounts, withBridge), ...events.ofLateness(accounts)]);
  }

  return {
    publish(account) {
      for (const each of account === undefined ? accountIds : [account]) changed.add(each);
      bridgeChanged = true;
      plan();
    },
    publishBridge() {
      bridgeChanged = true;
      plan();
    },
    sayBridge: () => say([], true),
    everything() {
      const { announcer } = voices();
      announcer.forget();
      for (const each of accountIds) changed.add(each);
      const first = take();
      bridgeChanged = changed.size > 0;
      if (bridgeChanged) plan();
      return announcer.news(first, true);
    },
    open() {
      isPlanned = false;
    },
    resume() {
      if (changed.size > 0 || (bridgeChanged && !isResting)) plan();
    },
  };
}

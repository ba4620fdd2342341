// The recent work for each account: requests and logins of the local day, and the newest polls; and the shapes of replies, for
// `heat2mqtt report`. Kept over restarts.

import { Throttle } from '../foundation/limits.ts';
import { shapeOf } from '../provider/reply.ts';
import type { Reply } from '../provider/request.ts';
import { autosave } from '../store/autosave.ts';
import { type AccountRecord, journalCodec, type Replies } from '../store/documents.ts';
import type { Document } from '../store/stateStore.ts';
import type { AccountContext } from './context.ts';

const DAY_MS = 24 * 3_600_000;
const NEWEST_POLLS = 12;
const NOTHING_YET: Omit<AccountRecord, 'day'> = {
  requestsToday: 0,
  loginsToday: 0,
  lastPollAt: null,
  lastSuccessAt: null,
  discoveredAt: null,
  searchedAt: null,
  rediscoveredAt: null,
  polls: [],
  pollAt: null,
  retryAfter: null,
  failures: 0,
  failingSince: null,
  lastError: null,
  untold: [],
};

export type PollHistory = ReturnType<Awaited<ReturnType<typeof openPollHistories>>>;

/** Opens the history of one account after the other. All are one document: a poll of a thousand accounts writes one file. */
export async function openPollHistories({
  state,
  zone,
  clock,
}: Pick<AccountContext, 'state' | 'zone' | 'clock'>) {
  const document = state.document('journal', journalCodec);
  const stored = new Map(Object.entries((await document.read())?.accounts ?? {}));
  const records = new Map<string, AccountRecord>();
  const journal = autosave(() => document.write({ accounts: Object.fromEntries(records) }), clock);

  return (account: string) => {
    let record = stored.get(account) ?? { ...NOTHING_YET, day: zone.dayAt(clock.now()) };
    note({});

    /** Written with the next `save`. */
    function note(changes: Partial<AccountRecord>): void {
      record = { ...record, ...changes };
      records.set(account, record);
    }
    /** The counts of the day. */
    function today(): { readonly requests: number; readonly logins: number } {
      const day = zone.dayAt(clock.now());
      if (day !== record.day) note({ day, requestsToday: 0, loginsToday: 0 });
      return { requests: record.requestsToday, logins: record.loginsToday };
    }

    return {
      today,
      /** Its counts are those of its day: `today()` gives the current ones. */
      get record(): AccountRecord {
        return record;
      },
      countRequest: (): void => note({ requestsToday: today().requests + 1 }),
      countLogin: (): void => note({ loginsToday: today().logins + 1 }),
      /** `error`: what went wrong; `null`: nothing did. */
      notePoll(error: AccountRecord['lastError']): void {
        const lastPollAt = clock.now();
        const polls = [...record.polls, [lastPollAt, error?.code ?? null] satisfies [number, string | null]];
        note({ lastPollAt, polls: polls.slice(-NEWEST_POLLS), lastError: error });
        if (error === null) note({ lastSuccessAt: lastPollAt, failures: 0, failingSince: null });
        else {
          // Failures that began under a clock that was ahead count from now.
          const failingSince = Math.min(record.failingSince ?? lastPollAt, lastPollAt);
          note({ failures: record.failures + 1, failingSince });
        }
      },
      note,
      /** Whether this has not been done for a day; from now on it has. A clock that was far ahead must not put it off for long. */
      tryOnceADay(what: 'searchedAt' | 'rediscoveredAt'): boolean {
        const now = clock.now();
        const before = record[what];
        if (before !== null && Math.abs(now - before) < DAY_MS) return false;
        note({ [what]: now });
        return true;
      },
      /** Writes down soon what has been noted: counts alone, such as that of a refresh, are not worth a write. */
      save: (): void => journal.changed(),
      /** Resolves once everything is on the disk, counts too, or could not be written. */
      saved(): Promise<void> {
        journal.changed();
        return journal.saved();
      },
    };
  };
}

const NEWEST = 3;

/** A strange reply is kept although good ones follow; the file is written only when a new shape is seen. */
export async function openReplyShapes(
  document: Pick<Document<Replies>, 'read' | 'write'>,
  { clock }: Pick<AccountContext, 'clock'>,
): Promise<(reply: Reply) => void> {
  const known = new Map(Object.entries((await document.read())?.replies ?? {}));
  const throttles = new Map<string, Throttle>();
  return ({ what, status, json, foreign }) => {
    const throttle = throttles.get(what) ?? new Throttle(clock);
    throttles.set(what, throttle);
    // A reply that is passed over and was not understood will be asked for again.
    if (throttle.restMs() > 0) return;
    const end = throttle.begin();
    const shape = foreign ? [`${foreign.type}, not JSON`] : shapeOf(json);
    end();
    const shapes = known.get(what) ?? [];
    if (shapes.some((each) => each.status === status && each.shape.join() === shape.join())) return;
    known.set(what, [{ firstSeenAt: clock.now(), status, shape }, ...shapes].slice(0, NEWEST));
    void document.write({ replies: Object.fromEntries(known) });
  };
}

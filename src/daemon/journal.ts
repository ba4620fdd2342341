// What was done when: counts of the local day, and the polls that went well; kept over restarts.
import type { Zone } from '../domain/period.ts';
import type { Clock } from '../foundation/clock.ts';
import type { Log } from '../foundation/log.ts';
import { journalCodec } from '../store/documents.ts';
import type { StateDirectory } from '../store/stateDirectory.ts';

export interface Journal {
  countRequest(): void;
  countLogin(): void;
  /** `code` of what went wrong; `null`: nothing did. */
  notePoll(code: string | null): void;
  /** The provider has been asked for the account's properties. */
  noteDiscovery(): void;
  today(): { readonly requests: number; readonly logins: number };
  /** Epoch milliseconds. */
  readonly lastPollAt: number | null;
  readonly lastSuccessAt: number | null;
  readonly discoveredAt: number | null;
  save(): Promise<void>;
}

const NEWEST_POLLS = 12;

/** `name` is an account's id. */
export async function openJournal(
  state: StateDirectory,
  name: string,
  zone: Zone,
  clock: Clock,
  log: Log,
): Promise<Journal> {
  // Written with each poll of each account; what a power cut takes back is at most a count of this day.
  const document = state.document(`accounts/${name}/journal`, journalCodec, 'brief');
  const stored = await document.read();
  let day = stored?.day ?? zone.dayAt(clock.now());
  let requests = stored?.requestsToday ?? 0;
  let logins = stored?.loginsToday ?? 0;
  let lastPollAt = stored?.lastPollAt ?? null;
  let lastSuccessAt = stored?.lastSuccessAt ?? null;
  let discoveredAt = stored?.discoveredAt ?? null;
  let polls = stored?.polls ?? [];
  let isChanged = false;

  function turnPage(): void {
    const today = zone.dayAt(clock.now());
    if (today === day) return;
    day = today;
    requests = 0;
    logins = 0;
  }

  return {
    countRequest() {
      turnPage();
      requests += 1;
      isChanged = true;
    },
    countLogin() {
      turnPage();
      logins += 1;
      isChanged = true;
    },
    notePoll(code) {
      lastPollAt = clock.now();
      isChanged = true;
      if (code === null) lastSuccessAt = lastPollAt;
      polls = [...polls, [lastPollAt, code] satisfies [number, string | null]].slice(-NEWEST_POLLS);
    },
    noteDiscovery() {
      isChanged = true;
      discoveredAt = clock.now();
    },
    today() {
      turnPage();
      return { requests, logins };
    },
    get lastPollAt() {
      return lastPollAt;
    },
    get lastSuccessAt() {
      return lastSuccessAt;
    },
    get discoveredAt() {
      return discoveredAt;
    },
    async save() {
      if (!isChanged) return;
      isChanged = false;
      const counts = { requestsToday: requests, loginsToday: logins };
      await document
        .write({ day, ...counts, lastPollAt, lastSuccessAt, discoveredAt, polls })
        .catch((err) => log.error({ err }, 'journal could not be saved'));
    },
  };
}

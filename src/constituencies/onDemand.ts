// Constituencies on demand. The list of a house is kept: retained on the broker, on disk, and the answer for a minute. Any other list
// is fetched, answered and forgotten.
import { setMaxListeners } from 'node:events';
import {
  type Answered,
  type Constituency,
  type ConstituencyQuestion,
  caveat,
  newestHouse,
} from '../domain/constituency.ts';
import type { Zone } from '../domain/period.ts';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, Failure, failure, safeWords } from '../foundation/failure.ts';
import { RateLimit } from '../foundation/limits.ts';
import type { Log } from '../foundation/log.ts';
import type { Message } from '../mqtt/message.ts';
import type { Answer, Parameters } from '../mqtt/requests.ts';
import { UnexpectedReply } from '../provider/request.ts';
import type { ConstituencyRecord } from '../publication/payloads/payloads.ts';
import type { Topics } from '../publication/topics.ts';
import { constituenciesCodec } from '../store/documents.ts';
import { owned, type StateStore } from '../store/stateStore.ts';
import { type Asked, type ConstituenciesSection, openPublicList } from './publicList.ts';

const FRESH_MS = 60_000;
const FOLDER = 'constituencies';
// Every house there is, each chamber as a whole, and room for houses to come.
const MOST_KEPT = 100;
const WINDOW_MS = 5 * 60_000;
const MOST_IN_WINDOW = 30;

/** A request that the service is not asked for now. */
export interface Postponed {
  readonly request: 'constituencies';
  readonly reason: 'rate_limit' | 'retry_after';
  /** Epoch milliseconds. */
  readonly until: number;
}

interface Deps {
  readonly clock: Clock;
  readonly log: Log;
  readonly zone: Zone;
  readonly topics: Topics;
  readonly state: StateStore;
  /** Publishes what has changed, before the answer goes out. */
  readonly publishNow: () => void;
  readonly onPostponed: (postponed: Postponed) => void;
}

interface Kept {
  readonly view: ConstituenciesView;
  /** Written once: its payload may be large, and is compared at each publication. */
  readonly message: Message;
}

export class Constituencies {
  readonly #deps: Deps;
  readonly #baseUrl: string;
  readonly #publicList: ReturnType<typeof openPublicList>;
  readonly #rate: RateLimit;
  readonly #stopping = new AbortController();
  readonly #underWay = new Map<string, Promise<Answer>>();
  /** The keys are names of lists, oldest first. */
  readonly #kept = new Map<string, Kept>();
  // Monotonic: setting the clock must neither shorten nor lengthen the wait.
  #retryAfter = Number.NEGATIVE_INFINITY;

  static async open(section: ConstituenciesSection, deps: Deps): Promise<Constituencies> {
    const opened = new Constituencies(section, deps);
    await opened.#readKept();
    return opened;
  }

  private constructor(section: ConstituenciesSection, deps: Deps) {
    this.#deps = deps;
    this.#baseUrl = section.base_url;
    this.#publicList = openPublicList(section, deps.clock);
    this.#rate = new RateLimit(deps.clock, MOST_IN_WINDOW, WINDOW_MS);
    // Each request under way listens to it: Node would warn of a leak from the eleventh on.
    setMaxListeners(0, this.#stopping.signal);
  }

  /** Equal questions share a fetch. Throws request_malformed. */
  async answer(parameters: Parameters): Promise<Answer> {
    const { clock, zone, onPostponed } = this.#deps;
    const asked = this.#publicList.readQuestion(parameters);
    const { question, isOfSittingHouse, force } = asked;
    const isConfigured = isOfSittingHouse && question.skip === null && question.limit === null;
    const name = isConfigured ? this.#configuredName() : listName(question);
    const known = this.#viewOf(name);
    const key = JSON.stringify(name ?? [question, isOfSittingHouse]);
    const running = this.#underWay.get(key);
    if (running !== undefined) return running;
    if (known !== null && !force && isFresh(known, clock.now()))
      return this.#done(name, known, { fetched: false, changed: false });
    const later = this.#postponed();
    if (later !== null) {
      onPostponed(later);
      const why = { reason: later.reason, next_at: zone.iso(later.until) };
      return { status: 'skipped', data: this.#dataOf(name, known, why) };
    }
    const fetching = this.#read(asked, name).finally(() => void this.#underWay.delete(key));
    this.#underWay.set(key, fetching);
    return fetching;
  }

  /** Everything retained. */
  messages(): Message[] {
    const { topics, zone } = this.#deps;
    const configured = this.#configuredName();
    const lists = [...this.#kept.values()].map(({ message }) => message);
    return [...lists, summaryMessage(topics, zone, configured, this.#viewOf(configured))];
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.allSettled(this.#underWay.values());
  }

  async #readKept(): Promise<void> {
    const views: ConstituenciesView[] = [];
    for (const file of await this.#deps.state.list(FOLDER)) {
      const document = this.#document(file);
      const view = await document.read();
      if (view !== null && listName(view.question) === null) await document.remove();
      else if (view !== null) views.push(view);
    }
    for (const view of views.sort((a, b) => a.fetchedAt - b.fetchedAt)) this.#remember(view);
  }

  /** Lists of another service are not read. */
  #document(file: string) {
    return owned(this.#deps.state.document(`${FOLDER}/${file}`, constituenciesCodec), this.#baseUrl);
  }

  #viewOf(name: string | null): ConstituenciesView | null {
    return name === null ? null : (this.#kept.get(name)?.view ?? null);
  }

  /** The newest known house, where the sitting one is configured. `null`: none is known yet. */
  #configuredName(): string | null {
    const { question, isOfSittingHouse } = this.#publicList.readQuestion({});
    if (!isOfSittingHouse) return listName(question);
    const views = [...this.#kept.values()].map(({ view }) => view);
    const ofChamber = views.filter((view) => view.question.chamber === question.chamber);
    const houseNo = newestHouse(ofChamber.map((view) => view.question.houseNo));
    // Without a number, the whole chamber, where it did not tell its sitting house.
    const name = listName({ ...question, houseNo });
    return name !== null && this.#kept.has(name) ? name : null;
  }

  #remember(view: ConstituenciesView): void {
    const { topics, zone } = this.#deps;
    const name = listName(view.question) ?? '';
    this.#kept.delete(name);
    this.#kept.set(name, { view, message: listMessage(topics, zone, name, view) });
  }

  async #keep(name: string, view: ConstituenciesView): Promise<void> {
    this.#remember(view);
    await this.#document(fileOf(name)).write(view);
    const configured = this.#configuredName();
    const others = [...this.#kept.keys()].filter((each) => each !== configured);
    for (const oldest of others.slice(0, Math.max(0, others.length - MOST_KEPT))) {
      this.#kept.delete(oldest);
      await this.#document(fileOf(oldest)).remove();
    }
  }

  /** Why the service is not asked now; `null`: it is. */
  #postponed(): Postponed | null {
    const { clock } = this.#deps;
    const request = 'constituencies';
    const patienceMs = this.#retryAfter - clock.monotonic();
    if (patienceMs > 0) return { request, reason: 'retry_after', until: clock.now() + patienceMs };
    const waitMs = this.#rate.waitMs();
    return waitMs > 0 ? { request, reason: 'rate_limit', until: clock.now() + waitMs } : null;
  }

  /** `expected`: the name of the list as far as it is known before the fetch. */
  async #read(asked: Asked, expected: string | null): Promise<Answer> {
    this.#rate.tryStart();
    try {
      return await this.#take(await this.#publicList.read(asked, this.#stopping.signal));
    } catch (err) {
      return await this.#failed(expected, err);
    } finally {
      this.#deps.publishNow();
    }
  }

  async #take(answered: Answered): Promise<Answer> {
    const { clock, log } = this.#deps;
    const name = listName(answered.question);
    const known = this.#viewOf(name);
    if (known !== null) refuseWorse(known, answered);
    const view = { ...answered, fetchedAt: clock.now(), stale: false };
    const warning = caveat(view);
    // A house that does not exist has no rows: its topic would stay for ever.
    const count = view.list.constituencies?.length ?? null;
    const isKept = name !== null && (known !== null || warning !== null || count !== 0);
    if (isKept) await this.#keep(name, view);
    if (warning === null) log.info({ list: name, count }, 'constituencies fetched');
    else log.warn({ list: name, count, warning }, 'constituencies fetched');
    const changed = isKept && !(known !== null && saySame(known, view));
    return this.#done(isKept ? name : null, view, { fetched: true, changed });
  }

  #done(name: string | null, view: ConstituenciesView, more: Parameters): Answer {
    const warning = caveat(view);
    const data = this.#dataOf(name, view, { ...more, ...(warning === null ? {} : { warning }) });
    return { status: 'ok', data };
  }

  /** A list that is kept stays, and is marked as stale. Rejects when the daemon stops. */
  async #failed(name: string | null, err: unknown): Promise<Answer> {
    const { clock, log } = this.#deps;
    if (this.#stopping.signal.aborted) throw err;
    if (err instanceof Failure) {
      log.warn({ list: name, ...safeWords(err) }, 'constituencies not fetched');
      const waitMs = err.retryAfterMs ?? 0;
      if (waitMs > 0) this.#retryAfter = clock.monotonic() + waitMs;
    } else log.error({ list: name, err }, 'constituencies not fetched');
    const known = this.#viewOf(name);
    if (name !== null && known !== null && !known.stale) await this.#keep(name, { ...known, stale: true });
    const data = this.#dataOf(name, this.#viewOf(name), { fetched: false, changed: false });
    return { status: 'error', error: safeWords(err), data };
  }

  #dataOf(name: string | null, view: ConstituenciesView | null, more: Parameters): Parameters {
    return { ...listAnswer(this.#deps.topics, this.#deps.zone, name, view), ...more };
  }
}

const fileOf = (name: string): string => name.replace('/', '-');
/** Whether the list answers a repeated question. One of unknown shape does not. */
function isFresh({ fetchedAt, stale, list }: ConstituenciesView, now: number): boolean {
  const age = now - fetchedAt;
  return !stale && list.constituencies !== null && age >= 0 && age < FRESH_MS;
}

const saySame = (one: Answered, other: Answered): boolean =>
  JSON.stringify([one.list.constituencies, one.list.raw]) ===
  JSON.stringify([other.list.constituencies, other.list.raw]);

/** Throws where a list with gaps, or a reply of unknown shape, would take the place of a list. */
function refuseWorse(known: Answered, came: Answered): void {
  if (known.list.constituencies === null) return;
  if (came.list.constituencies === null)
    throw new UnexpectedReply(
      'list of constituencies',
      'a list',
      'another shape',
      'The list from before stays. If this lasts, please report it.',
    );
  const gap = caveat(came);
  if (gap === null || caveat(known) !== null) return;
  throw failure('incomplete_list', `${gap} The whole list from before stays.`, {
    exit: EXIT.provider,
    retry: 'later',
    hint: 'Ask again later, or for one house.',
  });
}

interface ConstituenciesView extends Answered {
  /** Epoch milliseconds. */
  readonly fetchedAt: number;
  /** A later fetch has failed, or its reply had an unknown shape. */
  readonly stale: boolean;
}

/** The list of a house as the end of its topic: `dail/34`, `seanad/all`. `null`: more than a house is asked for, or a page. */
export function listName({ chamber, houseNo, chamberIds, skip, limit }: ConstituencyQuestion): string | null {
  if (chamberIds.length > 0 || skip !== null || limit !== null) return null;
  return `${chamber ?? 'all'}/${houseNo ?? 'all'}`;
}

const levelsOf = (name: string) => name.split('/') as [string, string];

/** The answer to a request for a list. `name`: under which it is retained; `view`: `null` while there is none. */
export function listAnswer(topics: Topics, zone: Zone, name: string | null, view: ConstituenciesView | null) {
  const { constituencies = null, total = null, complete = null } = view?.list ?? {};
  return {
    topic: name === null ? null : topics.of('constituencies/<chamber>/<house_no>', ...levelsOf(name)),
    count: constituencies?.length ?? null,
    total,
    complete,
    fetched_at: view && zone.iso(view.fetchedAt),
    stale: view?.stale ?? null,
    constituencies: constituencies?.map(toRecord) ?? null,
  };
}

export function listMessage(topics: Topics, zone: Zone, name: string, view: ConstituenciesView): Message {
  const { chamber, houseNo, chamberIds, skip, limit } = view.question;
  const { raw } = view.list;
  const { count, total, complete, constituencies } = listAnswer(topics, zone, name, view);
  return topics.message('constituencies/<chamber>/<house_no>', levelsOf(name), {
    fetched_at: zone.iso(view.fetchedAt),
    stale: view.stale,
    query: { chamber, house_no: houseNo, chamber_id: chamberIds, skip, limit },
    count,
    total,
    complete,
    constituencies,
    ...(raw === null ? {} : { raw }),
  });
}

/** The configured list as Home Assistant shows it, there even before the first request. */
export function summaryMessage(
  topics: Topics,
  zone: Zone,
  name: string | null,
  view: ConstituenciesView | null,
): Message {
  const { topic, count, fetched_at, stale, constituencies } = listAnswer(topics, zone, name, view);
  const names = constituencies && [...new Set(constituencies.map((row) => row.name))];
  const areListed = names !== null && fits({ topic, fetched_at, stale, names });
  const notes = [view && caveat(view), names && remark(names.length, count, areListed)].filter(Boolean);
  return topics.message('bridge/constituencies', [], {
    count,
    topic,
    fetched_at,
    stale,
    names: areListed ? names : null,
    note: notes.length === 0 ? null : notes.join(' '),
  });
}

function remark(names: number, count: number | null, areListed: boolean): string | null {
  if (!areListed)
    return `The ${names} names are too long for Home Assistant. They are on the topic of the list.`;
  return names === count ? null : `${count} constituencies have ${names} different names.`;
}

// Home Assistant's recorder drops attributes above 16384 bytes; it adds a few of its own.
const LARGEST_ATTRIBUTES_BYTES = 15_000;
const fits = (attributes: object): boolean =>
  Buffer.byteLength(JSON.stringify(attributes)) <= LARGEST_ATTRIBUTES_BYTES;

const toRecord = ({ house, ...row }: Constituency): ConstituencyRecord => ({
  ...row,
  house: { chamber: house.chamber, house_no: house.houseNo, name: house.name, uri: house.uri },
});

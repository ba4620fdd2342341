// Constituencies on demand. The list of a house is kept: retained on the broker, on disk, and the answer for a minute. Any other list
// is fetched, answered and forgotten.
import { setMaxListeners } from 'node:events';
import { type Answered, caveat, gapIn, inOrder, newestHouse } from '../domain/constituency.ts';
import type { Zone } from '../domain/period.ts';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, Failure, failure, safeWords } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import type { Message } from '../mqtt/message.ts';
import type { Answer, Parameters } from '../mqtt/requests.ts';
import { UnexpectedReply } from '../provider/request.ts';
import type { Topics } from '../publication/topics.ts';
import { constituenciesCodec } from '../store/documents.ts';
import { owned, type StateStore } from '../store/stateStore.ts';
import {
  answerWith,
  type ConstituenciesView,
  listAnswer,
  listMessage,
  listName,
  summaryMessage,
} from './lists.ts';
import { type Asked, type ConstituenciesSection, openPublicList } from './publicList.ts';

const FRESH_MS = 60_000;
const FOLDER = 'constituencies';
// Every house there is, each chamber as a whole, and room for houses to come.
const MOST_KEPT = 100;

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

interface KeptList {
  readonly view: ConstituenciesView;
  /** Written once: its payload may be large, and is compared at each publication. */
  readonly message: Message;
}

export class Constituencies {
  readonly #deps: Deps;
  readonly #baseUrl: string;
  readonly #publicList: ReturnType<typeof openPublicList>;
  readonly #stopping = new AbortController();
  readonly #underWay = new Map<string, Promise<Answer>>();
  /** The keys are names of lists, oldest first. */
  readonly #lists = new Map<string, KeptList>();
  // Monotonic: setting the clock must neither shorten nor lengthen the wait.
  #retryAfter = Number.NEGATIVE_INFINITY;

  static async open(section: ConstituenciesSection, deps: Deps): Promise<Constituencies> {
    const opened = new Constituencies(section, deps);
    await opened.#readLists();
    return opened;
  }

  private constructor(section: ConstituenciesSection, deps: Deps) {
    this.#deps = deps;
    this.#baseUrl = section.base_url;
    this.#publicList = openPublicList(section, deps.clock);
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
    const key = JSON.stringify(name ?? [question, isOfSittingHouse]);
    const underWay = this.#underWay.get(key);
    if (underWay !== undefined) return underWay;
    const view = this.#viewOf(name);
    if (view !== null && !force && isFresh(view, clock.now())) return this.#done(name, view, false, false);
    const postponed = this.#postponed();
    if (postponed !== null) {
      onPostponed(postponed);
      const why = { reason: postponed.reason, next_at: zone.iso(postponed.until) };
      return { status: 'skipped', data: { ...listAnswer(this.#deps, name, view), ...why } };
    }
    const fetching = this.#ask(asked, name).finally(() => void this.#underWay.delete(key));
    this.#underWay.set(key, fetching);
    return fetching;
  }

  /** Everything retained. */
  messages(): Message[] {
    const configured = this.#configuredName();
    const lists = [...this.#lists.values()].map(({ message }) => message);
    return [...lists, summaryMessage(this.#deps, configured, this.#viewOf(configured))];
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.allSettled(this.#underWay.values());
  }

  async #readLists(): Promise<void> {
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
    return name === null ? null : (this.#lists.get(name)?.view ?? null);
  }

  /** The newest known house, where the sitting one is configured. `null`: none is known yet. */
  #configuredName(): string | null {
    const { question, isOfSittingHouse } = this.#publicList.readQuestion({});
    if (!isOfSittingHouse) return listName(question);
    const views = [...this.#lists.values()].map(({ view }) => view);
    const ofChamber = views.filter((view) => view.question.chamber === question.chamber);
    const houseNo = newestHouse(ofChamber.map((view) => view.question.houseNo));
    // A question without a number is about the whole chamber, if that did not tell its sitting house.
    const name = listName({ ...question, houseNo });
    return name !== null && this.#lists.has(name) ? name : null;
  }

  #remember(view: ConstituenciesView): void {
    const name = listName(view.question) ?? '';
    this.#lists.delete(name);
    this.#lists.set(name, { view, message: listMessage(this.#deps, name, view) });
  }

  async #keep(name: string, view: ConstituenciesView): Promise<void> {
    this.#remember(view);
    await this.#document(fileOf(name)).write(view);
    const configured = this.#configuredName();
    const others = [...this.#lists.keys()].filter((each) => each !== configured);
    for (const oldest of others.slice(0, Math.max(0, others.length - MOST_KEPT))) {
      this.#lists.delete(oldest);
      await this.#document(fileOf(oldest)).remove();
    }
  }

  /** The reason why the service is not asked now; `null`: it is. */
  #postponed(): Postponed | null {
    const { clock } = this.#deps;
    const request = 'constituencies';
    const patienceMs = this.#retryAfter - clock.monotonic();
    if (patienceMs > 0) return { request, reason: 'retry_after', until: clock.now() + patienceMs };
    const waitMs = this.#publicList.fetches.waitMs();
    return waitMs > 0 ? { request, reason: 'rate_limit', until: clock.now() + waitMs } : null;
  }

  /** `expected`: the name of the list as far as it is known before the fetch. */
  async #ask(asked: Asked, expected: string | null): Promise<Answer> {
    this.#publicList.fetches.tryStart();
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
    const before = this.#viewOf(name);
    const view = { ...asGood(before, answered), fetchedAt: clock.now(), stale: false };
    const warning = caveat(view);
    const count = view.list.constituencies?.length ?? null;
    if (warning === null) log.info({ list: name, count }, 'constituencies fetched');
    else log.warn({ list: name, count, warning }, 'constituencies fetched');
    // A house that does not exist has no rows: its topic would stay for ever.
    const isOfNoHouse = before === null && warning === null && count === 0;
    if (name === null || isOfNoHouse) return this.#done(null, view, true, false);
    await this.#keep(name, view);
    return this.#done(name, view, true, before === null || !saySame(before, view));
  }

  #done(name: string | null, view: ConstituenciesView, fetched: boolean, changed: boolean): Answer {
    return answerWith(this.#deps, name, view, { fetched, changed });
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
    const view = this.#viewOf(name);
    if (name !== null && view !== null && !view.stale) await this.#keep(name, { ...view, stale: true });
    const data = { ...listAnswer(this.#deps, name, this.#viewOf(name)), fetched: false, changed: false };
    return { status: 'error', error: safeWords(err), data };
  }
}

const fileOf = (name: string): string => name.replace('/', '-');

/** A fresh list answers a repeated question. One of unknown shape does not. */
function isFresh({ fetchedAt, stale, list }: ConstituenciesView, now: number): boolean {
  const age = now - fetchedAt;
  return !stale && list.constituencies !== null && age >= 0 && age < FRESH_MS;
}

function saySame(before: Answered, after: Answered): boolean {
  const words = ({ list: { constituencies, raw } }: Answered) => JSON.stringify([constituencies, raw]);
  return words(before) === words(after);
}

/**
 * The list to be kept: a row that cannot be read any more stays as it was. Throws where a list with gaps, or a reply of unknown shape,
 * would take the place of a list.
 */
function asGood(before: Answered | null, after: Answered): Answered {
  const { constituencies: rows, unreadable } = after.list;
  if (!before?.list.constituencies) return after;
  if (rows === null)
    throw new UnexpectedReply(
      'list of constituencies',
      'a list',
      'another shape',
      'The list from before stays. If this lasts, please report it.',
    );
  const gap = gapIn(after);
  if (gap !== null && gapIn(before) === null)
    throw failure('incomplete_list', `${gap} The list from before stays.`, {
      exit: EXIT.provider,
      retry: 'later',
      hint: 'Ask again later, or for one house.',
    });
  const uris = new Set(rows.map(({ uri }) => uri));
  const kept = unreadable > 0 ? before.list.constituencies.filter(({ uri }) => !uris.has(uri)) : [];
  return { ...after, list: { ...after.list, constituencies: inOrder([...rows, ...kept]) } };
}

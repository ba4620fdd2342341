// Constituencies on demand. The list of a house is kept: retained on the broker, on disk, and the answer for a minute. Any other list
// is fetched, answered and forgotten.
import { type Answered, caveat } from '../domain/constituency.ts';
import type { Zone } from '../domain/period.ts';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, Failure, failure, safeWords } from '../foundation/failure.ts';
import { RateLimit } from '../foundation/limits.ts';
import type { Log } from '../foundation/log.ts';
import type { Message } from '../mqtt/message.ts';
import type { Answer, Parameters } from '../mqtt/requests.ts';
import { UnexpectedReply } from '../provider/request.ts';
import {
  type ConstituenciesView,
  countOf,
  listMessage,
  listName,
  listTopic,
  summaryMessage,
  toRecord,
} from '../publication/constituencies.ts';
import type { Topics } from '../publication/topics.ts';
import { constituenciesCodec } from '../store/documents.ts';
import { type Document, owned, type StateStore } from '../store/stateStore.ts';
import { type Asked, type ConstituenciesSection, PublicList } from './publicList.ts';

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
  readonly #section: ConstituenciesSection;
  readonly #deps: Deps;
  readonly #publicList: PublicList;
  readonly #rate: RateLimit;
  // Monotonic: setting the clock must neither shorten nor lengthen the wait.
  #retryAfter = Number.NEGATIVE_INFINITY;
  readonly #stopping = new AbortController();
  readonly #underWay = new Map<string, Promise<Answer>>();
  /** By name, oldest first. */
  readonly #kept = new Map<string, Kept>();

  static async open(section: ConstituenciesSection, deps: Deps): Promise<Constituencies> {
    const opened = new Constituencies(section, deps);
    await opened.#restore();
    return opened;
  }

  private constructor(section: ConstituenciesSection, deps: Deps) {
    this.#section = section;
    this.#deps = deps;
    this.#publicList = new PublicList(section, deps.clock);
    this.#rate = new RateLimit(deps.clock, MOST_IN_WINDOW, WINDOW_MS);
  }

  /** Equal questions share a fetch. Throws request_malformed. */
  async answer(parameters: Parameters): Promise<Answer> {
    const asked = this.#publicList.readQuestion(parameters);
    const { question, isOfSittingHouse, force } = asked;
    const isUsual = isOfSittingHouse && question.skip === null && question.limit === null;
    const name = isUsual ? this.#usual : listName(question);
    const known = this.#view(name);
    const key = JSON.stringify(name ?? [question, isOfSittingHouse]);
    const running = this.#underWay.get(key);
    if (running !== undefined) return running;
    const { clock } = this.#deps;
    if (known !== null && !force && isFresh(known, clock.now()))
      return this.#done(name, known, { fetched: false, changed: false });
    const postponed = this.#postponed();
    if (postponed !== null) return this.#skipped(name, postponed);
    const fetching = this.#read(asked, name).finally(() => void this.#underWay.delete(key));
    this.#underWay.set(key, fetching);
    return fetching;
  }

  /** Everything retained. */
  messages(): Message[] {
    const { topics, zone } = this.#deps;
    const name = this.#usual;
    const lists = [...this.#kept.values()].map(({ message }) => message);
    return [...lists, summaryMessage(topics, zone, name, this.#view(name))];
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.allSettled(this.#underWay.values());
  }

  /** The name of the configured list. Of a sitting house it is the newest one known; `null`: none is. */
  get #usual(): string | null {
    const { chamber, house_no: houseNo } = this.#section;
    const configured = { chamber: chamber || null, houseNo: houseNo ?? null };
    if (configured.chamber === null || configured.houseNo !== null)
      return listName({ ...configured, chamberIds: [], skip: null, limit: null });
    const ofChamber = [...this.#kept].filter(([, { view }]) => view.question.chamber === configured.chamber);
    const numberOf = ([, { view }]: [string, Kept]) => view.question.houseNo ?? 0;
    return ofChamber.sort((a, b) => numberOf(b) - numberOf(a))[0]?.[0] ?? null;
  }

  /** `expected`: the name of the list as far as it is known before the fetch. */
  async #read(asked: Asked, expected: string | null): Promise<Answer> {
    const { clock, log } = this.#deps;
    this.#rate.tryStart();
    try {
      const answered = await this.#publicList.read(asked, this.#stopping.signal);
      const name = listName(answered.question);
      const known = this.#view(name);
      if (known !== null) refuseWorse(known, answered);
      const view = { ...answered, fetchedAt: clock.now(), stale: false };
      const isKept = name !== null && (known !== null || !isOfNothing(view));
      if (isKept) await this.#keep(name, view);
      const warning = caveat(view);
      const told = { list: name, count: countOf(view.list) };
      if (warning === null) log.info(told, 'constituencies fetched');
      else log.warn({ ...told, warning }, 'constituencies fetched');
      const changed = isKept && !(known !== null && saySame(known, view));
      return this.#done(isKept ? name : null, view, { fetched: true, changed });
    } catch (err) {
      return await this.#failed(expected, err);
    } finally {
      this.#deps.publishNow();
    }
  }

  #postponed(): Postponed | null {
    const { clock } = this.#deps;
    const request = 'constituencies';
    const patienceMs = this.#retryAfter - clock.monotonic();
    if (patienceMs > 0) return { request, reason: 'retry_after', until: clock.now() + patienceMs };
    const waitMs = this.#rate.waitMs();
    return waitMs > 0 ? { request, reason: 'rate_limit', until: clock.now() + waitMs } : null;
  }

  #skipped(name: string | null, postponed: Postponed): Answer {
    this.#deps.onPostponed(postponed);
    const { reason, until } = postponed;
    const more = { reason, next_at: this.#deps.zone.iso(until) };
    return { status: 'skipped', data: this.#about(name, this.#view(name), more) };
  }

  #done(name: string | null, view: ConstituenciesView, more: Parameters): Answer {
    const warning = caveat(view);
    const told = warning === null ? more : { ...more, warning };
    return { status: 'ok', data: this.#about(name, view, told) };
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
    const known = this.#view(name);
    if (name !== null && known !== null && !known.stale) await this.#keep(name, { ...known, stale: true });
    const data = this.#about(name, this.#view(name), { fetched: false, changed: false });
    return { status: 'error', error: safeWords(err), data };
  }

  #about(name: string | null, view: ConstituenciesView | null, more: Parameters): Parameters {
    const { topics, zone } = this.#deps;
    return {
      topic: name === null ? null : listTopic(topics, name),
      count: view === null ? null : countOf(view.list),
      total: view?.list.total ?? null,
      complete: view?.list.complete ?? null,
      fetched_at: view === null ? null : zone.iso(view.fetchedAt),
      stale: view?.stale ?? null,
      constituencies: view?.list.constituencies?.map(toRecord) ?? null,
      ...more,
    };
  }

  #view(name: string | null): ConstituenciesView | null {
    return name === null ? null : (this.#kept.get(name)?.view ?? null);
  }

  async #restore(): Promise<void> {
    const views: ConstituenciesView[] = [];
    for (const file of await this.#deps.state.list(FOLDER)) {
      const view = await this.#document(file).read();
      if (view !== null && listName(view.question) === null) await this.#remove(file);
      else if (view !== null) views.push(view);
    }
    for (const view of views.sort((a, b) => a.fetchedAt - b.fetchedAt)) this.#remember(view);
  }

  #remember(view: ConstituenciesView): void {
    const { topics, zone } = this.#deps;
    const name = listName(view.question) ?? '';
    this.#kept.delete(name);
    this.#kept.set(name, { view, message: listMessage(topics, zone, name, view) });
  }

  async #keep(name: string, view: ConstituenciesView): Promise<void> {
    this.#remember(view);
    await this.#document(fileOf(name))
      .write(view)
      .catch((err) => this.#deps.log.error({ err }, 'a list of constituencies could not be saved'));
    const others = [...this.#kept.keys()].filter((each) => each !== this.#usual);
    for (const oldest of others.slice(0, Math.max(0, others.length - MOST_KEPT))) {
      this.#kept.delete(oldest);
      await this.#remove(fileOf(oldest));
    }
  }

  async #remove(file: string): Promise<void> {
    await this.#document(file)
      .remove()
      .catch((err) => this.#deps.log.error({ err }, 'a list of constituencies could not be removed'));
  }

  /** Lists of another service are not read. */
  #document(file: string): Document<ConstituenciesView> {
    return owned(this.#deps.state.document(`${FOLDER}/${file}`, constituenciesCodec), this.#section.base_url);
  }
}

const fileOf = (name: string): string => name.replace('/', '-');

/** Whether the list answers a repeated question. One of unknown shape does not. */
function isFresh({ fetchedAt, stale, list }: ConstituenciesView, now: number): boolean {
  const age = now - fetchedAt;
  return !stale && list.constituencies !== null && age >= 0 && age < FRESH_MS;
}

/** Of a house that does not exist, for example: its topic would stay for ever. */
const isOfNothing = (answered: Answered): boolean =>
  countOf(answered.list) === 0 && caveat(answered) === null;

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
  if (gap !== null && caveat(known) === null) throw listIncomplete(gap);
}

/** A list with gaps came where a whole one is kept. */
const listIncomplete = (gap: string) =>
  failure('incomplete_list', `${gap} The whole list from before stays.`, {
    exit: EXIT.provider,
    retry: 'later',
    hint: 'Ask again later, or for one house.',
  });

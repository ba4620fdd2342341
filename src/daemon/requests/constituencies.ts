// Constituencies on demand: a request is answered from the cached list, or the list is fetched, cached and published.
import { type Answered, type ConstituencyQuestion, caveat } from '../../domain/constituency.ts';
import type { Clock } from '../../foundation/clock.ts';
import { EXIT, Failure, safeWords } from '../../foundation/failure.ts';
import { concurrencyLimit, RateLimit } from '../../foundation/limits.ts';
import type { Message } from '../../mqtt/message.ts';
import type { Answer, Parameters } from '../../mqtt/requests.ts';
import { UnexpectedReply } from '../../provider/request.ts';
import { type ConstituenciesView, countOf, listName, listTopic } from '../../publication/constituencies.ts';
import type { Context } from '../context.ts';
import { CachedLists } from './cachedLists.ts';
import { PublicList } from './publicList.ts';
import { SittingHouse } from './sittingHouse.ts';

/** A list with gaps came where a whole one is cached. */
class ListIncomplete extends Failure {
  readonly code = 'incomplete_list';
  readonly exitCode = EXIT.provider;

  constructor(what: string) {
    super(`${what} The whole list from before stays.`, {
      retry: 'later',
      hint: 'Ask again later, or for one house.',
    });
  }
}

const FRESH_MS = 60_000;

export class Constituencies {
  readonly #context: Context;
  readonly #publishNow: () => void;
  readonly #publicList: PublicList;
  readonly #lists: CachedLists;
  readonly #limit: FetchLimit;
  readonly #stopping = new AbortController();
  readonly #underWay = new Map<string, Promise<Answer>>();
  /** `null`: the configuration does not ask for it. */
  #sittingHouse: SittingHouse | null = null;

  /**
   * Resolves to `null` when the configuration has no constituencies. `publishNow` publishes what has changed, before the
   * answer goes out.
   */
  static async open(publishNow: () => void, context: Context): Promise<Constituencies | null> {
    const { constituencies: section } = context.config;
    if (!section) return null;
    const publicList = new PublicList(section, context.clock);
    const { question, isOfSittingHouse } = publicList.understand({});
    const lists = await CachedLists.open(
      section.base_url,
      isOfSittingHouse ? null : listName(question),
      context,
    );
    const opened = new Constituencies(publicList, lists, publishNow, context);
    await opened.#openSittingHouse(section.base_url);
    return opened;
  }

  private constructor(publicList: PublicList, lists: CachedLists, publishNow: () => void, context: Context) {
    this.#publicList = publicList;
    this.#lists = lists;
    this.#publishNow = publishNow;
    this.#context = context;
    this.#limit = new FetchLimit(context.clock);
  }

  /** Equal questions share a fetch. Throws RequestMalformed. */
  async answer(parameters: Parameters): Promise<Answer> {
    const { question, force, isOfSittingHouse } = this.#publicList.understand(parameters);
    if (!isOfSittingHouse) return this.#answerTo(question, force);
    const refusal = this.#sittingHouse?.known === null ? this.#limit.refusal() : null;
    if (refusal !== null) return this.#skipped(null, refusal);
    try {
      const houseNo = (await this.#sittingHouse?.houseNo()) ?? null;
      const usual = { ...question, houseNo };
      const name = listName({ ...usual, skip: null, limit: null });
      const isNew = this.#lists.usual !== name;
      this.#lists.usual = name;
      if (isNew) this.#publishNow();
      return await this.#answerTo(usual, force);
    } catch (err) {
      if (this.#stopping.signal.aborted) throw err;
      return this.#failed(null, err);
    }
  }

  /** Everything retained. */
  messages(): Message[] {
    return this.#lists.messages();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.allSettled(this.#underWay.values());
  }

  async #openSittingHouse(service: string): Promise<void> {
    const { sittingOf } = this.#publicList;
    if (sittingOf === null) return;
    const { signal } = this.#stopping;
    const ask = async () => {
      if (this.#limit.refusal() !== null) return null;
      return this.#limit.run(() => this.#publicList.sittingHouse(sittingOf, signal));
    };
    this.#sittingHouse = await SittingHouse.open(sittingOf, service, ask, this.#context);
    const { known } = this.#sittingHouse;
    if (known !== null)
      this.#lists.usual = listName({ ...this.#publicList.understand({}).question, houseNo: known });
  }

  #answerTo(question: ConstituencyQuestion, force: boolean): Answer | Promise<Answer> {
    const name = listName(question);
    return this.#underWay.get(name) ?? this.#begin(question, name, force);
  }

  #begin(question: ConstituencyQuestion, name: string, force: boolean): Answer | Promise<Answer> {
    const { clock, log } = this.#context;
    const view = this.#lists.get(name);
    if (view !== null && !force && isFresh(view, clock)) {
      log.debug({ list: name }, 'a repeated question within a minute is answered from the cached list');
      return this.#done(name, false, false);
    }
    const refusal = this.#limit.refusal();
    if (refusal !== null) return this.#skipped(name, refusal);
    const fetching = this.#fetch(question, name).finally(() => this.#underWay.delete(name));
    this.#underWay.set(name, fetching);
    return fetching;
  }

  async #fetch(question: ConstituencyQuestion, name: string): Promise<Answer> {
    const { clock, log } = this.#context;
    const { signal } = this.#stopping;
    try {
      const list = await this.#limit.run(() => this.#publicList.fetch(question, signal));
      await this.#refuseWorse(name, { question, list });
      if (this.#isOfNothing(name, { question, list })) {
        const { total, complete } = list;
        const fetched_at = this.#context.zone.iso(clock.now());
        const data = { count: 0, total, complete, fetched_at, stale: false, fetched: true, changed: false };
        return { status: 'ok', data: this.#about(null, data) };
      }
      const changed = await this.#lists.put({ question, list, fetchedAt: clock.now(), stale: false });
      const warning = caveat({ question, list });
      if (warning === null) log.info({ list: name, count: countOf(list) }, 'constituencies fetched');
      else log.warn({ list: name, warning }, 'constituencies fetched');
      return this.#done(name, true, changed);
    } catch (err) {
      if (signal.aborted) throw err;
      await this.#lists.markStale(name);
      return this.#failed(name, err);
    } finally {
      this.#publishNow();
    }
  }

  #skipped(name: string | null, { reason, until }: Refusal): Answer {
    const { zone, signals } = this.#context;
    signals.emit('requestSkipped', { request: 'constituencies', reason, until });
    const next_at = zone.iso(until);
    return { status: 'skipped', data: this.#about(name, { reason, next_at }) };
  }

  #failed(name: string | null, err: unknown): Answer {
    const { log } = this.#context;
    if (err instanceof Failure) log.warn({ list: name, ...safeWords(err) }, 'constituencies not fetched');
    else log.error({ list: name, err }, 'constituencies not fetched');
    const data = this.#about(name, { fetched: false, changed: false });
    return { status: 'error', error: safeWords(err), data };
  }

  /** No list with gaps replaces a whole one, and no reply of unknown shape a list: it is cached beside it. */
  async #refuseWorse(name: string, answered: Answered): Promise<void> {
    const { list } = answered;
    const cached = this.#lists.get(name);
    if (!cached?.list.constituencies) return;
    if (list.constituencies === null) {
      await this.#lists.put({ ...cached, list: { ...cached.list, raw: list.raw }, stale: true });
      throw new UnexpectedReply(
        'list of constituencies',
        'a list',
        'another shape',
        'The list from before stays; the new reply is beside it as "raw". If this lasts, please report it.',
      );
    }
    const gap = caveat(answered);
    if (gap !== null && caveat(cached) === null) throw new ListIncomplete(gap);
  }

  /** Of a house that does not exist, for example: a topic for it would stay for ever. */
  #isOfNothing(name: string, answered: Answered): boolean {
    const isNew = this.#lists.get(name) === null && name !== this.#lists.usual;
    return isNew && countOf(answered.list) === 0 && caveat(answered) === null;
  }

  #done(name: string, fetched: boolean, changed: boolean): Answer {
    const view = this.#lists.get(name);
    const warning = view === null ? null : caveat(view);
    const more = { fetched, changed, ...(warning === null ? {} : { warning }) };
    return { status: 'ok', data: this.#about(name, more) };
  }

  /** `name`: `null` while the sitting house is not known. */
  #about(name: string | null, more: Parameters): Parameters {
    const { topics, zone } = this.#context;
    const view = name === null ? null : this.#lists.get(name);
    return {
      topic: name === null ? null : listTopic(topics, name),
      count: view === null ? null : countOf(view.list),
      total: view?.list.total ?? null,
      complete: view?.list.complete ?? null,
      fetched_at: view === null ? null : zone.iso(view.fetchedAt),
      stale: view?.stale ?? null,
      ...more,
    };
  }
}

/** A reply of unknown shape is not kept from being asked for again. */
function isFresh({ fetchedAt, stale, list }: ConstituenciesView, clock: Clock): boolean {
  const age = clock.now() - fetchedAt;
  return !stale && list.constituencies !== null && age >= 0 && age < FRESH_MS;
}

const WINDOW_MS = 5 * 60_000;
const MOST_IN_WINDOW = 30;
const MOST_AT_ONCE = 4;

interface Refusal {
  readonly reason: 'rate_limit' | 'retry_after';
  /** Epoch milliseconds. */
  readonly until: number;
}

/** How often the public list may be asked, and by how many questions at a time: a flood on MQTT must end here. */
export class FetchLimit {
  readonly #clock: Clock;
  readonly #rate: RateLimit;
  readonly #concurrency = concurrencyLimit(MOST_AT_ONCE);
  // Monotonic: setting the clock must neither shorten nor lengthen the wait.
  #retryAfter = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#rate = new RateLimit(clock, MOST_IN_WINDOW, WINDOW_MS);
  }

  /** Why nothing may be fetched now, and until when; `null`: go ahead. */
  refusal(): Refusal | null {
    const patienceMs = this.#retryAfter - this.#clock.monotonic();
    if (patienceMs > 0) return { reason: 'retry_after', until: this.#clock.now() + patienceMs };
    const waitMs = this.#rate.waitMs();
    return waitMs > 0 ? { reason: 'rate_limit', until: this.#clock.now() + waitMs } : null;
  }

  /** Runs it in its turn. */
  async run<T>(fetchOne: () => Promise<T>): Promise<T> {
    this.#rate.tryStart();
    try {
      return await this.#concurrency(fetchOne);
    } catch (err) {
      const wait = err instanceof Failure ? err.retryAfterMs : undefined;
      if (wait !== undefined) this.#retryAfter = Math.max(this.#retryAfter, this.#clock.monotonic() + wait);
      throw err;
    }
  }
}

// Constituencies on demand: a request is answered from the cached list, or the list is fetched, cached and published.
import { type ConstituencyList, type ConstituencyQuestion, caveat } from '../../domain/constituency.ts';
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

  /**
   * Resolves to `null` when the configuration has no constituencies. `publishNow` publishes what has changed, before the
   * answer goes out.
   */
  static async open(publishNow: () => void, context: Context): Promise<Constituencies | null> {
    const { constituencies: section } = context.config;
    if (!section) return null;
    const publicList = new PublicList(section, context.clock);
    const usual = listName(publicList.understand({}).question);
    const lists = await CachedLists.open(section.base_url, usual, context);
    return new Constituencies(publicList, lists, publishNow, context);
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
    const { question, force } = this.#publicList.understand(parameters);
    const name = listName(question);
    return this.#underWay.get(name) ?? this.#begin(question, name, force);
  }

  /** Everything retained. */
  messages(): Message[] {
    return this.#lists.messages();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.allSettled(this.#underWay.values());
  }

  #begin(question: ConstituencyQuestion, name: string, force: boolean): Answer | Promise<Answer> {
    const { clock, log, zone } = this.#context;
    const view = this.#lists.get(name);
    if (view !== null && !force && isFresh(view, clock)) {
      log.debug({ list: name }, 'a repeated question within a minute is answered from the cached list');
      return this.#done(name, false, false);
    }
    const refusal = this.#limit.refusal();
    if (refusal !== null) {
      const next_at = zone.iso(refusal.until);
      return { status: 'skipped', data: this.#about(name, { reason: refusal.reason, next_at }) };
    }
    const fetching = this.#fetch(question, name).finally(() => this.#underWay.delete(name));
    this.#underWay.set(name, fetching);
    return fetching;
  }

  async #fetch(question: ConstituencyQuestion, name: string): Promise<Answer> {
    const { clock, log } = this.#context;
    const { signal } = this.#stopping;
    try {
      const list = await this.#limit.run(() => this.#publicList.fetch(question, signal));
      await this.#refuseWorse(name, list);
      const changed = await this.#lists.put({ question, list, fetchedAt: clock.now(), stale: false });
      const warning = caveat(list);
      if (warning === null) log.info({ list: name, count: countOf(list) }, 'constituencies fetched');
      else log.warn({ list: name, warning }, 'constituencies fetched');
      return this.#done(name, true, changed);
    } catch (err) {
      if (signal.aborted) throw err;
      await this.#lists.markStale(name);
      if (err instanceof Failure) log.warn({ list: name, ...safeWords(err) }, 'constituencies not fetched');
      else log.error({ list: name, err }, 'constituencies not fetched');
      const data = this.#about(name, { fetched: false, changed: false });
      return { status: 'error', error: safeWords(err), data };
    } finally {
      this.#publishNow();
    }
  }

  /** No list with gaps replaces a whole one, and no reply of unknown shape a list: it is cached beside it. */
  async #refuseWorse(name: string, list: ConstituencyList): Promise<void> {
    const cached = this.#lists.get(name);
    if (cached?.list.constituencies && list.constituencies === null) {
      await this.#lists.put({ ...cached, list: { ...cached.list, raw: list.raw }, stale: true });
      throw new UnexpectedReply(
        'list of constituencies',
        'a list',
        'another shape',
        'The list from before stays; the new reply is beside it as "raw". If this lasts, please report it.',
      );
    }
    if (cached?.list.complete && !list.complete) throw new ListIncomplete(caveat(list) ?? '');
  }

  #done(name: string, fetched: boolean, changed: boolean): Answer {
    const view = this.#lists.get(name);
    const warning = view === null ? null : caveat(view.list);
    const more = { fetched, changed, ...(warning === null ? {} : { warning }) };
    return { status: 'ok', data: this.#about(name, more) };
  }

  #about(name: string, more: Parameters): Parameters {
    const { topics, zone } = this.#context;
    const view = this.#lists.get(name);
    return {
      topic: listTopic(topics, name),
      count: view === null ? null : countOf(view.list),
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

  /** Why nothing may be fetched now, and until when (epoch milliseconds); `null`: go ahead. */
  refusal(): { readonly reason: 'rate_limit' | 'retry_after'; readonly until: number } | null {
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

// Constituencies on demand: a request is checked, answered from what stands, or fetched, kept and published.
import type { Config } from '../../config/schema.ts';
import { type ConstituencyQuestion, caveat } from '../../domain/constituency.ts';
import type { Zone } from '../../domain/period.ts';
import type { Clock } from '../../foundation/clock.ts';
import { EXIT, Failure, safeWords } from '../../foundation/failure.ts';
import type { Log } from '../../foundation/log.ts';
import type { Message } from '../../mqtt/message.ts';
import { type Answer, type Handler, RequestMalformed } from '../../mqtt/requests.ts';
import { QUESTION_PARAMETERS } from '../../provider/constituencyQuestion.ts';
import { UnexpectedReply } from '../../provider/request.ts';
import { type ConstituenciesView, countOf, placeOf } from '../../publication/constituencies.ts';
import type { Topics } from '../../publication/topics.ts';
import type { StateDirectory } from '../../store/stateDirectory.ts';
import { openKeptLists } from './cachedLists.ts';
import { openFetchPace } from './fetchPace.ts';
import { openPublicList } from './publicList.ts';

export interface Constituencies {
  readonly answer: Handler;
  /** Everything that stands retained. */
  messages(): Message[];
  stop(): Promise<void>;
}

export interface ConstituenciesParts {
  readonly config: Config;
  readonly topics: Topics;
  readonly zone: Zone;
  readonly state: StateDirectory;
  readonly clock: Clock;
  readonly log: Log;
  /** Publishes what has changed, before the answer goes out. */
  readonly publishNow: () => void;
}

/** A list with gaps came where a whole one stands. */
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

const unknownShape = () =>
  new UnexpectedReply(
    'list of constituencies',
    'a list',
    'another shape',
    'The list from before stays; the new reply stands beside it as "raw". If this lasts, please report it.',
  );

const FRESH_MS = 60_000;

/** Resolves to `null` when the configuration has no constituencies. */
export async function openConstituencies(parts: ConstituenciesParts): Promise<Constituencies | null> {
  const { config, topics, zone, clock, log } = parts;
  if (!config.constituencies) return null;
  const publicList = openPublicList(config.constituencies, clock);
  const usualPlace = placeOf(publicList.question({}));
  const lists = await openKeptLists({ ...parts, owner: config.constituencies.base_url, usualPlace });
  const pace = openFetchPace(clock);
  const stopping = new AbortController();
  const underWay = new Map<string, Promise<Answer>>();

  const tell = (place: string, more: Readonly<Record<string, unknown>>) => {
    const view = lists.get(place);
    return {
      topic: topics.constituencies(place),
      count: view === null ? null : countOf(view.list),
      fetched_at: view === null ? null : zone.iso(view.fetchedAt),
      stale: view?.stale ?? null,
      ...more,
    };
  };
  const done = (place: string, fetched: boolean, changed: boolean): Answer => {
    const view = lists.get(place);
    const warning = view === null ? null : caveat(view.list);
    return {
      status: 'ok',
      data: { ...tell(place, { fetched, changed }), ...(warning === null ? {} : { warning }) },
    };
  };

  async function fetchNow(question: ConstituencyQuestion, place: string): Promise<Answer> {
    try {
      const list = await pace.run(() => publicList.fetch(question, stopping.signal));
      const warning = caveat(list);
      if (await lists.putBeside(place, list.raw)) throw unknownShape();
      if (!list.complete && lists.get(place)?.list.complete) throw new ListIncomplete(warning ?? '');
      const changed = await lists.put({ question, list, fetchedAt: clock.now(), stale: false });
      if (warning === null) log.info({ place, count: countOf(list) }, 'constituencies fetched');
      else log.warn({ place, warning }, 'constituencies fetched');
      return done(place, true, changed);
    } catch (err) {
      if (stopping.signal.aborted) throw err;
      await lists.markStale(place);
      if (err instanceof Failure) log.warn({ place, ...safeWords(err) }, 'constituencies not fetched');
      else log.error({ place, err }, 'constituencies not fetched');
      return {
        status: 'error',
        error: safeWords(err),
        data: tell(place, { fetched: false, changed: false }),
      };
    } finally {
      parts.publishNow();
    }
  }

  function isFresh({ fetchedAt, stale }: ConstituenciesView): boolean {
    const age = clock.now() - fetchedAt;
    return !stale && age >= 0 && age < FRESH_MS;
  }

  function begin(question: ConstituencyQuestion, place: string, force: boolean): Answer | Promise<Answer> {
    const view = lists.get(place);
    if (view !== null && !force && isFresh(view)) return done(place, false, false);
    const held = pace.held();
    if (held !== null) {
      const next_at = zone.iso(held.until);
      return { status: 'skipped', data: tell(place, { reason: held.reason, next_at }) };
    }
    const fetching = fetchNow(question, place).finally(() => underWay.delete(place));
    underWay.set(place, fetching);
    return fetching;
  }

  return {
    async answer(parameters) {
      const { question, force } = understand(parameters);
      const place = placeOf(question);
      return underWay.get(place) ?? begin(question, place, force);
    },
    messages: lists.messages,
    async stop() {
      stopping.abort();
      await Promise.allSettled(underWay.values());
    },
  };

  function understand(parameters: Readonly<Record<string, unknown>>) {
    const { force = false, ...rest } = parameters;
    const unknown = Object.keys(rest).find((key) => !QUESTION_PARAMETERS.includes(key));
    if (unknown !== undefined) {
      const allowed = [...QUESTION_PARAMETERS, 'force', 'transaction'].join(', ');
      throw new RequestMalformed(`Unknown parameter "${unknown.slice(0, 40)}"; allowed: ${allowed}.`);
    }
    if (typeof force !== 'boolean') {
      const found = JSON.stringify(force).slice(0, 40);
      throw new RequestMalformed(`force: found ${found}; allowed: true, false.`);
    }
    return { question: publicList.question(rest), force };
  }
}

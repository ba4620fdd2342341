// The public list of constituencies, as configured: from parameters to a question, and from a question to a list.
import type { Config } from '../config/schema.ts';
import { type Answered, type ConstituencyQuestion, ofSittingHouse } from '../domain/constituency.ts';
import { type Clock, deadline } from '../foundation/clock.ts';
import { HttpClient } from '../http/client.ts';
import { type Parameters, readParameters } from '../mqtt/requests.ts';
import { type Ask, createAsk } from '../provider/request.ts';
import { REQUESTS } from '../publication/payloads/requests.ts';
import { readConstituencies } from './pages.ts';

const TIMEOUT_SECONDS = 30;
// The time limit for all pages together.
const LONGEST_FETCH_MS = 120_000;

export type ConstituenciesSection = NonNullable<Config['constituencies']>;

export interface Asked {
  /** `houseNo` is `null` while the sitting house is to be found. */
  readonly question: ConstituencyQuestion;
  readonly isOfSittingHouse: boolean;
  /** Fetch although a list is fresh. */
  readonly force: boolean;
}

/** Knows no credentials. */
export class PublicList {
  readonly #section: ConstituenciesSection;
  readonly #ask: Ask;
  readonly #clock: Clock;

  constructor(section: ConstituenciesSection, clock: Clock) {
    this.#section = section;
    this.#clock = clock;
    this.#ask = createAsk({
      baseUrl: section.base_url,
      timeoutSeconds: TIMEOUT_SECONDS,
      send: new HttpClient(clock).send,
      clock,
      setting: 'constituencies.base_url',
    });
  }

  /** Without parameters, what the configuration asks. `nameOf`: a parameter, as the user calls it. Throws request_malformed. */
  readQuestion(parameters: Parameters, nameOf?: (parameter: string) => string): Asked {
    const given = readParameters(REQUESTS.constituencies, parameters, nameOf);
    const { chamber, house_no, chamber_id = [], skip = null, limit = null, force = false } = given;
    // Without the host: both forms of the specification's URI are one and the same house.
    const paths = [chamber_id].flat().map((uri) => uri.replace(/^https?:\/\/[^/]+/, ''));
    const chamberIds = [...new Set(paths)].sort();
    const isOpen = chamber === undefined && house_no === undefined && chamberIds.length === 0;
    const asked = isOpen ? this.#section : given;
    const question = {
      chamber: asked.chamber || null,
      houseNo: asked.house_no ?? null,
      chamberIds,
      skip,
      limit,
    };
    const isOfSittingHouse = isOpen && question.chamber !== null && question.houseNo === null;
    return { question, isOfSittingHouse, force };
  }

  /** Rejects with the failures of the provider's requests. */
  async read({ question, isOfSittingHouse }: Asked, signal?: AbortSignal): Promise<Answered> {
    const limit = deadline(this.#clock, LONGEST_FETCH_MS, signal);
    const toAsk = isOfSittingHouse ? { ...question, skip: null, limit: null } : question;
    const list = await readConstituencies(this.#ask, toAsk, limit.signal).finally(() => limit.clear());
    return isOfSittingHouse ? ofSittingHouse(question, list) : { question, list };
  }
}

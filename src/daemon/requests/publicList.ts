// The public list of constituencies, as configured: from parameters to a question, and from a question to a list. The command uses it too.
import type { Config } from '../../config/schema.ts';
import type { Answered, Chamber, ConstituencyList, ConstituencyQuestion } from '../../domain/constituency.ts';
import { type Clock, deadline } from '../../foundation/clock.ts';
import { HttpClient } from '../../http/client.ts';
import { type Parameters, readParameters } from '../../mqtt/requests.ts';
import { readConstituencies } from '../../provider/constituencies.ts';
import { type Ask, createAsk } from '../../provider/request.ts';
import { REQUESTS } from '../../publication/payloads/requests.ts';

const TIMEOUT_SECONDS = 30;
// All pages together: a list that creeps in must end some day.
const LONGEST_FETCH_MS = 120_000;

/** Knows no credentials. */
export class PublicList {
  readonly #usual: Pick<ConstituencyQuestion, 'chamber' | 'houseNo'>;
  readonly #ask: Ask;
  readonly #clock: Clock;

  constructor({ base_url, chamber, house_no }: NonNullable<Config['constituencies']>, clock: Clock) {
    this.#usual = { chamber: chamber || null, houseNo: house_no ?? null };
    this.#clock = clock;
    this.#ask = createAsk({
      baseUrl: base_url,
      timeoutSeconds: TIMEOUT_SECONDS,
      send: new HttpClient(clock).send,
      clock,
      setting: 'constituencies.base_url',
    });
  }

  /** The chamber whose sitting house the configuration asks for; `null`: it names a house, or no chamber. */
  get sittingOf(): Chamber | null {
    return this.#usual.houseNo === null ? this.#usual.chamber : null;
  }

  /**
   * From parameters as a request brings them; without any, what the configuration asks. `isOfSittingHouse`: its number
   * is still to be found. Throws RequestMalformed.
   */
  understand(
    parameters: Parameters,
    nameOf?: (parameter: string) => string,
  ): { question: ConstituencyQuestion; force: boolean; isOfSittingHouse: boolean } {
    const given = readParameters(REQUESTS.constituencies, parameters, nameOf);
    const { chamber, house_no, chamber_id = [], skip, limit, force } = given;
    // Without the host: both forms of the specification's URI are one and the same house.
    const paths = [chamber_id].flat().map((uri) => uri.replace(/^https?:\/\/[^/]+/, ''));
    const chamberIds = [...new Set(paths)].sort();
    const isOpen = chamber === undefined && house_no === undefined && chamberIds.length === 0;
    const question = {
      ...(isOpen ? this.#usual : { chamber: chamber || null, houseNo: house_no ?? null }),
      chamberIds,
      skip: skip ?? null,
      limit: limit ?? null,
    };
    return { question, force: force ?? false, isOfSittingHouse: isOpen && this.sittingOf !== null };
  }

  /** The highest number of all houses of the chamber; `null` when not all of them are told. Rejects as `fetch` does. */
  async sittingHouse(chamber: Chamber, signal?: AbortSignal): Promise<number | null> {
    const everyHouse = { chamber, houseNo: null, chamberIds: [], skip: null, limit: null };
    const { constituencies, complete } = await this.fetch(everyHouse, signal);
    const numbers = constituencies?.flatMap(({ house }) => house.houseNo ?? []) ?? [];
    return complete && numbers.length > 0 ? Math.max(...numbers) : null;
  }

  /** For a command, which remembers nothing. Throws RequestMalformed; rejects as `fetch` does. */
  async ask(
    parameters: Parameters,
    nameOf?: (parameter: string) => string,
    signal?: AbortSignal,
  ): Promise<Answered> {
    const { question: asked, isOfSittingHouse } = this.understand(parameters, nameOf);
    const { chamber } = asked;
    const isToBeFound = isOfSittingHouse && chamber !== null;
    const houseNo = isToBeFound ? await this.sittingHouse(chamber, signal) : asked.houseNo;
    const question = { ...asked, houseNo };
    return { question, list: await this.fetch(question, signal) };
  }

  /** Rejects with the failures of the provider's requests. */
  async fetch(question: ConstituencyQuestion, signal?: AbortSignal): Promise<ConstituencyList> {
    const limit = deadline(this.#clock, LONGEST_FETCH_MS, signal);
    return readConstituencies(this.#ask, question, limit.signal).finally(() => limit.clear());
  }
}

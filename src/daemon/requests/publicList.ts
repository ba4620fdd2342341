// The way to the public list of constituencies, from the configuration. Shared with the commands; knows no credentials.
import type { Config } from '../../config/schema.ts';
import type { ConstituencyList, ConstituencyQuestion } from '../../domain/constituency.ts';
import { type Clock, deadline } from '../../foundation/clock.ts';
import { HttpClient } from '../../http/client.ts';
import { readConstituencies } from '../../provider/constituencyList.ts';
import { readQuestion } from '../../provider/constituencyQuestion.ts';
import { openRequest } from '../../provider/request.ts';

export interface PublicList {
  /** From parameters as a request brings them; without any, what the configuration asks. Throws QuestionMalformed. */
  question(
    parameters: Readonly<Record<string, unknown>>,
    nameOf?: (parameter: string) => string,
  ): ConstituencyQuestion;
  /** Rejects with the failures of the provider room. */
  fetch(question: ConstituencyQuestion, signal?: AbortSignal): Promise<ConstituencyList>;
}

const TIMEOUT_SECONDS = 30;
// All pages together: a list that creeps in must end some day.
const LONGEST_FETCH_MS = 120_000;

export function openPublicList(
  { base_url, chamber, house_no }: NonNullable<Config['constituencies']>,
  clock: Clock,
): PublicList {
  const usual = { chamber: chamber || null, houseNo: house_no ?? null };
  const ask = openRequest({
    baseUrl: base_url,
    timeoutSeconds: TIMEOUT_SECONDS,
    send: new HttpClient(clock).send,
    clock,
    setting: 'constituencies.base_url',
  });
  return {
    question: (parameters, nameOf) => readQuestion(parameters, usual, nameOf),
    async fetch(question, signal) {
      const limit = deadline(clock, LONGEST_FETCH_MS, signal);
      return readConstituencies(ask, question, limit.signal).finally(() => limit.clear());
    },
  };
}

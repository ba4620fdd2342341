// A question to the public list, checked before anything is sent; every fault names its parameter.
import * as z from 'zod';
import type { ConstituencyQuestion } from '../domain/constituency.ts';
import { EXIT, Failure } from '../foundation/failure.ts';

/** A parameter that cannot be sent. */
export class QuestionMalformed extends Failure {
  readonly code = 'request_malformed';
  readonly exitCode = EXIT.usage;

  constructor(parameter: string, found: unknown, allowed: string) {
    const shown = (JSON.stringify(found) ?? 'nothing').slice(0, LONGEST_ECHO);
    super(`${parameter}: found ${shown}; allowed: ${allowed}.`, { retry: 'never' });
  }
}

/** What is asked when a request chooses neither chamber, house nor chamber_id. */
export type UsualQuestion = Pick<ConstituencyQuestion, 'chamber' | 'houseNo'>;

export const LARGEST_LIMIT = 5_000;
const LARGEST_HOUSE_NO = 9_999;
const LARGEST_SKIP = 1_000_000;
const MOST_CHAMBER_IDS = 50;
const LONGEST_ECHO = 60;

const wholeNumber = (from: number, to: number) => ({
  schema: z.int().min(from).max(to).optional(),
  allowed: `a whole number from ${from} to ${to}`,
});

// The host is dropped: both forms of the specification's URI are one and the same house.
const houseUri = z
  .string()
  .regex(/^(https?:\/\/[^/?#\s]+)?\/ie\/[a-z0-9_-]+\/house\/(dail|seanad)\/[1-9]\d{0,3}$/)
  .transform((uri) => uri.replace(/^https?:\/\/[^/]+/, ''));

const PARAMETERS = {
  chamber: { schema: z.enum(['dail', 'seanad', '']).optional(), allowed: 'dail, seanad, or empty for both' },
  house_no: wholeNumber(1, LARGEST_HOUSE_NO),
  chamber_id: {
    schema: z.union([houseUri.transform((uri) => [uri]), z.array(houseUri).max(MOST_CHAMBER_IDS)]).optional(),
    allowed: `a house URI such as /ie/oireachtas/house/dail/33, or a list of at most ${MOST_CHAMBER_IDS}`,
  },
  skip: wholeNumber(0, LARGEST_SKIP),
  limit: wholeNumber(1, LARGEST_LIMIT),
} as const;

export const QUESTION_PARAMETERS: readonly string[] = Object.keys(PARAMETERS);

/** Looks at the parameters it knows. Throws QuestionMalformed, with the parameter as `nameOf` calls it. */
export function readQuestion(
  given: Readonly<Record<string, unknown>>,
  usual: UsualQuestion,
  nameOf: (parameter: string) => string = (parameter) => parameter,
): ConstituencyQuestion {
  function read<T>(name: keyof typeof PARAMETERS, schema: z.ZodType<T>): T {
    const found = Object.hasOwn(given, name) ? given[name] : undefined;
    const result = schema.safeParse(found);
    if (result.success) return result.data;
    throw new QuestionMalformed(nameOf(name), found, PARAMETERS[name].allowed);
  }
  const chamber = read('chamber', PARAMETERS.chamber.schema);
  const houseNo = read('house_no', PARAMETERS.house_no.schema);
  const chamberIds = [...new Set(read('chamber_id', PARAMETERS.chamber_id.schema) ?? [])].sort();
  const isOpen = chamber === undefined && houseNo === undefined && chamberIds.length === 0;
  return {
    ...(isOpen ? usual : { chamber: chamber || null, houseNo: houseNo ?? null }),
    chamberIds,
    skip: read('skip', PARAMETERS.skip.schema) ?? null,
    limit: read('limit', PARAMETERS.limit.schema) ?? null,
  };
}

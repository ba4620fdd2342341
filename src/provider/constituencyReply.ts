// A page of the public list: the two shapes it is known to have, or neither.
import * as z from 'zod';
import type { Constituency } from '../domain/constituency.ts';

export interface ConstituencyPage {
  readonly rows: readonly Constituency[];
  /** What the service says it has in all. */
  readonly total: number | null;
}

/** `null` when the reply has neither shape. */
export function understandPage(json: unknown): ConstituencyPage | null {
  const newer = newerShape.safeParse(json);
  if (newer.success) {
    const rows = newer.data.results.map((row) => toConstituency(row.constituencyOrPanel, row.house));
    return { rows, total: totalOf(newer.data.head) };
  }
  const older = olderShape.safeParse(json);
  if (!older.success) return null;
  const { house, constituenciesOrPanels } = older.data.results.house;
  const rows = constituenciesOrPanels.map((row) => toConstituency(row.constituencyOrPanel, house));
  return { rows, total: totalOf(older.data.head) };
}

const text = z.string().min(1).nullish().catch(null);
// Numbers come as text here, and might one day not.
const count = z
  .union([
    z.int().min(0),
    z
      .string()
      .regex(/^\d{1,9}$/)
      .transform(Number),
  ])
  .nullish()
  .catch(null);

// Only what identifies a row is needed: everything else may be missing.
const record = z.object({
  uri: z.string().min(1),
  showAs: z.string().min(1),
  representCode: text,
  representType: text,
});
const house = z.object({ houseCode: text, houseNo: count, showAs: text, uri: text }).nullish().catch(null);
const head = z
  .object({ counts: z.object({ resultCount: count }).nullish() })
  .nullish()
  .catch(null);

const newerShape = z.object({ head, results: z.array(z.object({ constituencyOrPanel: record, house })) });
const olderShape = z.object({
  head,
  results: z.object({
    house: z.object({ house, constituenciesOrPanels: z.array(z.object({ constituencyOrPanel: record })) }),
  }),
});

const totalOf = (found: z.infer<typeof head>): number | null => found?.counts?.resultCount ?? null;

function toConstituency(row: z.infer<typeof record>, of: z.infer<typeof house>): Constituency {
  return {
    uri: row.uri,
    name: row.showAs,
    code: row.representCode ?? null,
    type: row.representType ?? null,
    house: {
      chamber: of?.houseCode ?? null,
      houseNo: of?.houseNo ?? null,
      name: of?.showAs ?? null,
      uri: of?.uri ?? null,
    },
  };
}

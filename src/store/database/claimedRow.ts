// The row of a claimed account, and the statements by which a claim writes. Each begins with that row under its fence: where another
// process has it by now, nothing is found, and nothing is written.
import type { Day } from '../../domain/period.ts';
import { LONGEST_FAILURE_MS } from '../../domain/sharedMeter.ts';
import type { Changes } from './storedAccount.ts';

/** The row of an account as the claim found it. Times in epoch milliseconds. */
export interface ClaimedRow {
  readonly id: string;
  /** One more than before the claim. */
  readonly fence: number;
  /** Sealed: user name and password. */
  readonly login: Buffer;
  readonly history_since: Day | null;
  readonly removed: boolean;
  /** It was imported again: documents that are damaged count as absent. */
  readonly repair: boolean;
  readonly first_history: boolean;
  /** How many polls are asked for, and how often everything is to be published again. */
  readonly wanted: number;
  readonly republish: number;
  readonly poll_at: number;
  readonly failures: number;
  readonly failing_since: number | null;
  readonly needs_user: boolean;
  /** The process that has given it back last, and remembers it; a process of before does not note itself. */
  readonly kept_by: string | null;
}

/** The account's row after a run. */
export type Columns = Readonly<Record<string, unknown>>;

/** The end of a claim. */
export interface End {
  /** Unless something is wished for that was not when it was claimed: then it is due at once. */
  readonly dueAt: Date;
  /** The polls that were wished for are done, and so is publishing everything again. */
  readonly isPolled: boolean;
  readonly isPublished: boolean;
}

export const NO_CHANGES = { documents: [], ledgers: [] };

/** Writes columns, documents and ledgers together; it finds the account's id. */
export function commitStatement(
  row: ClaimedRow,
  changes: Pick<Changes, 'documents' | 'ledgers'>,
  columns: Columns,
  end: End | undefined,
): { readonly text: string; readonly values: readonly unknown[] } {
  const { documents, ledgers } = changes;
  const given = JSON.stringify({ row: { ...columns, due_at: end?.dueAt }, documents, ledgers });
  // PostgreSQL plans each statement when it comes: most runs have no new day.
  const parts = [`held AS (${updateOfRow(row, columns, end)})`, DOCUMENTS];
  if (ledgers.length > 0) parts.push(LEDGERS, daysPart(ledgers.some(({ gone }) => gone === null)));
  return { text: `WITH ${parts.join()} SELECT id FROM held`, values: [row.id, row.fence, given] };
}

/** With a new fence at its end, what the network still holds back of the run is refused when it comes. */
function updateOfRow({ wanted, republish }: ClaimedRow, columns: Columns, end: End | undefined): string {
  const set = Object.keys(columns).map((name) => `${name} = given.${name}`);
  if (end !== undefined)
    set.push(
      "fence = a.fence + 1, claimed_until = 'epoch', claimed_by = NULL, kept_by = a.claimed_by",
      `wanted = a.wanted - ${end.isPolled ? wanted : 0}, republish = a.republish - ${end.isPublished ? republish : 0}`,
      `due_at = CASE WHEN a.wanted > ${wanted} OR a.republish > ${republish} THEN now() ELSE given.due_at END`,
    );
  return set.length === 0
    ? 'SELECT id FROM heat2mqtt.account a WHERE id = $1 AND a.fence = $2 FOR UPDATE'
    : `UPDATE heat2mqtt.account a SET ${set.join(', ')}
      FROM json_populate_record(NULL::heat2mqtt.account, $3::json -> 'row') AS given
      WHERE a.id = $1 AND a.fence = $2 RETURNING a.id`;
}

/** The writes beside the row of the account, which is `held`. The third value is everything that is given. */
const DOCUMENTS = `
documents AS (INSERT INTO heat2mqtt.document (account, name, json, sealed)
  SELECT held.id, d.name, d.json, decode(d.sealed, 'base64')
  FROM held, json_to_recordset($3::json -> 'documents') AS d(name text, json json, sealed text)
  ON CONFLICT (account, name) DO UPDATE SET json = excluded.json, sealed = excluded.sealed)`;

const LEDGERS = `
given AS (SELECT * FROM json_to_recordset($3::json -> 'ledgers') AS l(mark text, ledger json, block json, days json, gone json)),
ledgers AS (UPDATE heat2mqtt.series s
  SET ledger = l.ledger, block = CASE WHEN l.gone IS NULL THEN l.block ELSE s.block END
  FROM held, given l WHERE s.mark = l.mark AND s.account = held.id RETURNING s.id, l.days, l.gone),
present AS (SELECT id AS series, (d ->> 0)::date AS day, (d ->> 1)::bigint AS energy, (d ->> 2)::bigint AS cost,
  (d ->> 3)::int AS revision, to_timestamp((d ->> 4)::bigint / 1000.0) AS received_at
  FROM ledgers, json_array_elements(days) AS d)`;

/** `hasAll`: of some ledgers all days are given, by a `gone` that is NULL. Those that differ are written, and no others stay. */
const daysPart = (hasAll: boolean): string => `
days AS (INSERT INTO heat2mqtt.reading SELECT * FROM present
  ${hasAll ? 'EXCEPT SELECT r.* FROM heat2mqtt.reading r JOIN ledgers ON ledgers.id = r.series WHERE ledgers.gone IS NULL' : ''}
  ON CONFLICT (series, day) DO UPDATE SET energy = excluded.energy, cost = excluded.cost, revision = excluded.revision,
    received_at = excluded.received_at),
gone AS (DELETE FROM heat2mqtt.reading r USING ledgers, json_array_elements_text(ledgers.gone) AS g(day)
  WHERE r.series = ledgers.id AND r.day = g.day::date)${hasAll ? OTHER_DAYS : ''}`;

const OTHER_DAYS = `,
others AS (DELETE FROM heat2mqtt.reading r USING ledgers
  WHERE r.series = ledgers.id AND ledgers.gone IS NULL AND (r.series, r.day) NOT IN (SELECT series, day FROM present))`;

/** The values are the account, its fence, what it wants, and whether it may take from those that cannot read it. */
export const TAKE_SERIES = `
WITH held AS (SELECT id FROM heat2mqtt.account WHERE id = $1 AND fence = $2 FOR UPDATE),
wanted AS (SELECT * FROM json_to_recordset($3::json) AS w(mark text, name text, longer text)),
idle AS (SELECT a.id FROM heat2mqtt.account a
  WHERE $4 AND a.id IN (SELECT s.account FROM heat2mqtt.series s JOIN wanted USING (mark)) AND a.id <> $1
    AND a.claimed_until <= now() AND (a.paused OR a.removed OR a.needs_user
      OR a.failing_since <= now() - interval '${LONGEST_FAILURE_MS} ms')
  FOR UPDATE SKIP LOCKED),
taken AS (UPDATE heat2mqtt.series s SET account = held.id FROM held, wanted w, idle
  WHERE s.mark = w.mark AND s.account = idle.id),
-- A process that remembers what is kept of these has to read it again.
changed AS (UPDATE heat2mqtt.account a SET fence = a.fence + 1 FROM idle WHERE a.id = idle.id),
succeeding AS (UPDATE heat2mqtt.series s SET mark = w.mark FROM held, wanted w
  WHERE s.name = w.name AND s.account = held.id AND s.mark NOT IN (SELECT mark FROM wanted)
    AND NOT EXISTS (SELECT FROM heat2mqtt.series x WHERE x.mark = w.mark) RETURNING s.mark)
INSERT INTO heat2mqtt.series (account, mark, name)
SELECT held.id, w.mark, CASE WHEN EXISTS (SELECT FROM heat2mqtt.series x WHERE x.name = w.name) THEN w.longer
  ELSE w.name END FROM held, wanted w
WHERE NOT EXISTS (SELECT FROM heat2mqtt.series x WHERE x.mark = w.mark)
  AND NOT EXISTS (SELECT FROM succeeding WHERE succeeding.mark = w.mark)
ON CONFLICT DO NOTHING`;

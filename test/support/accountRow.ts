// A PostgreSQL on its wire with one account, for tests without a real one: what a claim, its fence and a beat are answered.
import { randomBytes } from 'node:crypto';
import { openClaims } from '../../src/store/database/claims.ts';
import { openDatabase } from '../../src/store/database/database.ts';
import { Seal } from '../../src/store/database/seal.ts';
import { type HandClock, handClock } from './clock.ts';
import { logLines } from './logLines.ts';
import { type Row, startPostgresWire } from './postgresWire.ts';
import { openStack } from './stack.ts';

const PROCESS = '7d4f1f5e-0000-4000-8000-000000000001';

interface Written {
  readonly name: string;
  readonly json: unknown;
  /** Base 64. */
  readonly sealed: string | null;
}

type AccountRow = ReturnType<typeof usualRow>;

const usualRow = () => ({
  fence: 7,
  answersAfterMs: 0,
  pausedMs: 0,
  processes: 1,
  isKeeper: false,
  /** Other columns of the account. */
  columns: {} as Row,
  /** What is kept of it: documents and ledgers. */
  kept: [] as readonly Row[],
  /** The process that has given it back last. */
  keptBy: null as string | null,
  /** What is counted of the fleet. */
  counted: {
    health: { failures_in_a_row: 0 },
    fleet: { processes: [], accounts: 1, paused: 0, failing: 0, overdue: 0, oldest_due_at: null },
    toldToWait: 0,
    pausedUntil: null as string | null,
    oldestDueMs: 0,
    transactions: { next: 100, oldestAge: 0, pid: null as number | null },
    codes: [] as readonly { readonly code: string; readonly accounts: number }[],
  },
  /** How long ago that was counted for all; `null`: it never was. */
  countedAgoMs: null as number | null,
  /** What is sealed with the key. */
  sealed: [] as readonly Row[],
  /** SQLSTATE with which every statement is refused. */
  refuses: null as string | null,
  /** The same, for one kind of statement. */
  refusesOnly: null as { readonly statement: RegExp; readonly sqlState: string } | null,
});

/** Each statement finds the account, or not, by how the statement compares the fence. */
function rowsFor(text: string, values: readonly string[], row: AccountRow, clock: HandClock): readonly Row[] {
  if (text.startsWith('SELECT account')) return row.kept;
  if (text.includes('batch AS')) return values[0] === '' ? row.sealed : [];
  clock.advance(row.answersAfterMs);
  if (text.includes('AS "toldToWait"')) return [{ counted: row.counted, ageMs: 0 }];
  if (text.startsWith('SELECT counted'))
    return row.countedAgoMs === null ? [] : [{ counted: row.counted, ageMs: row.countedAgoMs }];
  const { fence, pausedMs, processes, isKeeper } = row;
  if (text.includes('INSERT INTO heat2mqtt.process'))
    return [{ number: 1, processes, isKeeper, pausedMs, now: clock.now() }];
  const compared = /(?:AND |a\.)fence (=|<=|>=|<|>) (?:\$2|mine\.fence)/.exec(text)?.[1];
  const ofClaim = Number(/\d+/.exec(values[text.includes('mine.fence') ? 3 : 1] ?? '')?.[0]);
  const holds = { '=': fence === ofClaim, '<=': fence <= ofClaim, '>=': fence >= ofClaim };
  const isFound = compared === undefined || Object(holds)[compared];
  if (isFound && text.includes('fence = a.fence + 1')) row.fence += 1;
  if (isFound && text.includes('kept_by = a.claimed_by')) row.keptBy = PROCESS;
  return isFound ? [{ id: 'a', fence: row.fence, failures: 0, kept_by: row.keptBy, ...row.columns }] : [];
}

export async function openAccountRow() {
  const stack = openStack();
  const clock = handClock('2025-03-10T12:00:00Z');
  const row = usualRow();
  const statements: { readonly text: string; readonly values: readonly string[] }[] = [];
  const port = await startPostgresWire(stack, (text, values) => {
    statements.push({ text, values });
    const { refuses, refusesOnly } = row;
    if (refusesOnly?.statement.test(text)) return refusesOnly.sqlState;
    return refuses ?? rowsFor(text, values, row, clock);
  });
  const database = openDatabase(`postgresql://worker@127.0.0.1:${port}/heat`, 10_000, logLines().log);
  stack.defer(() => database.close());
  const seal = new Seal([randomBytes(32)]);
  const claims = openClaims({ database, seal, clock }, PROCESS, 30);
  const taken = async () => {
    const [claim] = await claims.take(1, 1);
    if (claim === undefined) throw new Error('no claim');
    return claim;
  };
  /** The documents that each statement has written. */
  const written = () =>
    statements
      .filter(({ text }) => text.includes('INSERT INTO heat2mqtt.document'))
      .map(({ values }) => JSON.parse(values[2] ?? '').documents as Written[]);
  return { row, database, seal, claims, clock, taken, statements, written };
}

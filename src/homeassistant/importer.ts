// Brings one series up to date: compares the rows stored in Home Assistant with the ledger, sends what differs, reads it back.
import type { Ledger } from '../domain/ledger.ts';
import type { Zone } from '../domain/period.ts';
import { agree, rowsToSend, type StatisticsRow, statisticsRows } from '../domain/statistics.ts';
import type { Clock } from '../foundation/clock.ts';
import type { HomeAssistant } from './connection.ts';
import { importRows, isDescribed, storedRows } from './recorder.ts';
import type { Series } from './series.ts';
import { HomeAssistantTrouble } from './trouble.ts';

export interface ImportOptions {
  readonly ledger: Ledger;
  readonly zone: Zone;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Compare every row; otherwise the newest ones, whose sums vouch for those before them. */
  readonly thorough: boolean;
  /** Send again whatever starts at this instant or later, different or not. */
  readonly from?: number | undefined;
  /** Called before the first batch and after each that has been read back. */
  readonly onProgress: (stored: number, total: number) => void;
}

const NEWEST_ROWS = 62;
// Home Assistant takes seconds for this many on a Raspberry Pi; its messages end at 4 MiB, forty times as much.
const BATCH_ROWS = 1_000;
const HOUR_MS = 3_600_000;
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5_000;
const LONGEST_STORING_MS = 120_000;

/** Resolves to how many rows were sent; all of them have been read back. Rejects with HomeAssistantTrouble. */
export async function bringUpToDate(
  home: HomeAssistant,
  series: Series,
  options: ImportOptions,
): Promise<number> {
  const { ledger, zone } = options;
  const isWell = await isDescribed(home, series);
  if (isWell && !options.thorough && options.from === undefined) {
    const newest = statisticsRows(ledger, series.kind, zone).slice(-NEWEST_ROWS);
    const [first] = newest;
    if (!first || agree(newest, await storedRows(home, series, first.start))) return 0;
  }
  const stored = await storedRows(home, series);
  const wanted = statisticsRows(ledger, series.kind, zone, stored);
  const rows = isWell ? rowsToSend(wanted, stored, options.from) : wanted;
  if (rows.length > 0) await send(home, series, rows, options);
  return rows.length;
}

async function send(
  home: HomeAssistant,
  series: Series,
  rows: readonly StatisticsRow[],
  { clock, signal, onProgress }: ImportOptions,
): Promise<void> {
  onProgress(0, rows.length);
  for (let at = 0; at < rows.length; at += BATCH_ROWS) {
    const batch = rows.slice(at, at + BATCH_ROWS);
    await importRows(home, series, batch);
    await readBack(home, series, batch, clock, signal);
    onProgress(at + batch.length, rows.length);
  }
}

/** A result does not mean stored, because the recorder has a queue: waits until the batch is through it. */
async function readBack(
  home: HomeAssistant,
  series: Series,
  batch: readonly StatisticsRow[],
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const from = batch[0]?.start ?? 0;
  const to = (batch.at(-1)?.start ?? 0) + HOUR_MS;
  const began = clock.monotonic();
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    const stored = await storedRows(home, series, from, to);
    if (agree(batch, stored)) return;
    if (clock.monotonic() - began >= LONGEST_STORING_MS) {
      const missing = batch.filter((row) => rowsToSend([row], stored).length > 0).length;
      throw new HomeAssistantTrouble('not_stored', missing);
    }
    await clock.sleep(wait, signal);
    if (signal.aborted) throw new HomeAssistantTrouble('cut');
  }
}

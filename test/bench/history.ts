// Many years of days for one meter: what one poll costs, and what its file costs.
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { judgeUse } from '../../src/domain/insight/alarm.ts';
import { markRead, merge, openLedger, questions } from '../../src/domain/ledger.ts';
import { addDays, type Day, zone as zoneOf } from '../../src/domain/period.ts';
import type { Bucket } from '../../src/domain/reading.ts';
import { fitTariff } from '../../src/domain/tariff/tariff.ts';
import { totals } from '../../src/domain/totals.ts';
import { createLog, createScrubber } from '../../src/foundation/log.ts';
import { Topics } from '../../src/publication/topics.ts';
import { ledgerCodec } from '../../src/store/ledgerDocument.ts';
import { StateDirectory } from '../../src/store/stateDirectory.ts';
import { meterMessages } from '../support/inventedHome.ts';
import { spread, table } from './numbers.ts';

const zone = zoneOf('Europe/Dublin');
const topics = new Topics('bench');
const WINDOW_DAYS = 14;

function buckets(from: Day, days: number): Bucket[] {
  return Array.from({ length: days }, (_, n) => ({
    day: addDays(from, n),
    energy: 5_000_000 + (n % 17) * 1_000,
    cost: 1_000_000 + (n % 17) * 100,
  }));
}

export async function benchHistory(years: readonly number[], runs: number): Promise<string> {
  const rows: string[][] = [];
  for (const length of years) rows.push(await oneLength(length, runs));
  const costs = ['merge, totals and payloads of one poll, ms', 'write with fsync, ms', 'file, kB'];
  return table(['years of days', ...costs], rows);
}

async function oneLength(years: number, runs: number): Promise<string[]> {
  const now = Date.now();
  const today = zone.dayAt(now);
  const origin = addDays(today, -Math.round(years * 365.25));
  let ledger = openLedger(origin);
  for (const span of questions(ledger, today, 0)) {
    ledger = markRead(merge(ledger, buckets(span.from, 366), now, span).ledger, span, today);
  }
  const folder = await mkdtemp(join(tmpdir(), 'heat2mqtt-history-'));
  const scrubber = createScrubber();
  const state = await StateDirectory.open(folder, createLog({ level: 'silent', scrubber, write: () => {} }));
  const document = state.document('ledger', ledgerCodec);
  const polls: number[] = [];
  const writes: number[] = [];
  for (let n = 0; n < runs + 5; n += 1) {
    // Each poll brings a correction, so that nothing is as it was.
    const given = buckets(addDays(today, -WINDOW_DAYS), WINDOW_DAYS).map((bucket) => ({
      ...bucket,
      energy: 6_000_000 + n,
    }));
    const began = performance.now();
    const merged = merge(ledger, given, now + n);
    const view = {
      meter: 'M1',
      friendlyName: null,
      account: 'home',
      identifiers: ['M1'],
      ledger: merged.ledger,
      tenancy: merged.ledger,
      totals: totals(merged.ledger, today),
      zone,
      currency: 'EUR',
      readingAt: now,
      late: false,
      updatedAt: now,
      tariff: fitTariff(merged.ledger.days),
      monthForecast: { energy: null, cost: null },
      register: null,
      statementMonth: null,
      registerCheck: null,
      house: null,
      degreeDaysMonth: null,
      weatherChange: null,
      heatParts: null,
      use: judgeUse(merged.ledger.days, today, null, null),
      readingCloses: 'same_day' as const,
    };
    const messages = meterMessages(topics, view);
    const polled = performance.now();
    if (messages.length === 0) throw new Error('nothing to say');
    ledger = merged.ledger;
    await document.write({
      ...{ ledger, timezone: zone.name, readingCloses: 'same_day' },
      ...{ remembered: null, isNew: false, untold: [], tariff: null },
    });
    const written = performance.now();
    // The first ones warm up.
    if (n < 5) continue;
    polls.push(polled - began);
    writes.push(written - polled);
  }
  const { size } = await stat(join(folder, 'ledger.json'));
  await rm(folder, { recursive: true, force: true });
  return [String(years), spread(polls, 2), spread(writes, 1), (size / 1000).toFixed(0)];
}

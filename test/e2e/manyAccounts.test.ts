// Backup and restore of many accounts with years of readings, in little memory: their documents do not fit into it together.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { addDays } from '../../src/domain/period.ts';
import { documentText } from '../../src/store/documentText.ts';
import { ledgerCodec } from '../../src/store/ledgerDocument.ts';
import { openStack } from '../support/stack.ts';
import { outcome } from './program.ts';

const ACCOUNTS = 300;
const DAYS = 1_096;
const FIRST = '2023-10-01';
/** Kept small, so that what is held in memory ends the program: 19 MB of text, and several times that as objects. */
const LITTLE_MEMORY = { NODE_OPTIONS: '--max-old-space-size=80' };

function ledgerOf(account: number): string {
  const days = Array.from({ length: DAYS }, (_, nth) => {
    const energy = ((account * 7_919 + nth * 104_729) % 30_000) * 1_000 + (nth % 997);
    const record = {
      energy,
      cost: Math.round(energy * 0.124),
      revision: 1,
      receivedAt: 1_759_000_000_000 + nth,
    };
    return [addDays(FIRST, nth), record] as const;
  });
  const encoded = ledgerCodec.encode({
    timezone: 'Europe/Dublin',
    readingCloses: 'same_day',
    isNew: false,
    untold: [],
    tariff: null,
    ledger: {
      origin: FIRST,
      readTo: addDays(FIRST, DAYS - 1),
      complete: true,
      sweptOn: null,
      readTimes: new Map(),
      quarantined: new Map(),
      days: new Map(days),
    },
  });
  return documentText(encoded);
}

test('many accounts with three years are packed and restored in little memory, and what was there before can be', async () => {
  const folder = await openStack().folder();
  const path = (name: string) => join(folder, name);
  const ledger = (state: string, account: number) =>
    path(`${state}/accounts/flat-${account}/ledger-${account}.json`);
  for (let account = 0; account < ACCOUNTS; account += 1) {
    await mkdir(path(`state/accounts/flat-${account}`), { recursive: true });
    await writeFile(ledger('state', account), ledgerOf(account));
  }
  const configuration = async (state: string) => {
    const constituencies = { base_url: 'http://127.0.0.1:9/v1' };
    await writeFile(path(`${state}.yaml`), JSON.stringify({ constituencies, state_dir: path(state) }));
    return ['--config', path(`${state}.yaml`)];
  };
  const [from, to] = [await configuration('state'), await configuration('restored')];
  const ended = (...words: readonly string[]) => outcome(words, { env: LITTLE_MEMORY });
  const said = `${ACCOUNTS} meters with ${ACCOUNTS * DAYS} days`;
  expect(await ended('backup', path('b.gz'), ...from)).toMatchObject({
    code: 0,
    output: expect.stringContaining(said),
  });
  expect(await ended('restore', path('b.gz'), '--yes', ...to)).toMatchObject({ code: 0, errors: '' });
  for (const account of [0, ACCOUNTS - 1])
    expect(await readFile(ledger('restored', account), 'utf8')).toBe(ledgerOf(account));
  // Something to keep, and what is kept can be restored.
  await writeFile(ledger('restored', 7), ledgerOf(8));
  expect(await ended('restore', path('b.gz'), '--yes', '--force', ...to)).toMatchObject({
    code: 0,
    errors: '',
  });
  const kept = path('restored/before-restore.gz');
  expect(await ended('restore', kept, '--yes', ...to)).toMatchObject({ code: 0, errors: '' });
  expect(await readFile(ledger('restored', 7), 'utf8')).toBe(ledgerOf(8));
});

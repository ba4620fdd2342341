// A restore that is killed before and after each thing that it does to the disk, or that finds no room: the old state is there in full, or
// the new one is once it was repeated or the program has started; and the copy of what was there brings that back.
import { cp, mkdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { documentsOf, isRestoreUnderWay } from '../../src/store/restore.ts';
import { StateDirectory } from '../../src/store/stateDirectory.ts';
import { collected, unpacked } from '../support/backups.ts';
import { logLines } from '../support/logLines.ts';
import { ROOT } from '../support/sources.ts';
import { openStack } from '../support/stack.ts';
import { outcome } from './program.ts';
import { canMount, openSmallDisk } from './smallDisk.ts';

const STEP = Number(process.env.HEAT2MQTT_CRASH_STEP ?? 7);
const BLOCK_BYTES = 4096;
const fixture = (name: string) => join(ROOT, 'test/fixtures/upgrade', name);
/** The one is larger than the other: one order makes room first, the other needs more. */
const LARGE = '125eec11-household/kept';
const SMALL = '8739305';
const HOUSEHOLDS = [
  { was: LARGE, comes: SMALL },
  { was: SMALL, comes: LARGE },
] as const;
const DYING = `--import ${join(ROOT, 'test/e2e/dyingProgram.mjs')}`;

/** A state directory in `folder`, and the backup of another household that takes its place. */
async function openRestore(folder: string, { was, comes }: (typeof HOUSEHOLDS)[number]) {
  const beside = await openStack().folder();
  const at = (name: string) => join(beside, name);
  const state = join(folder, 'state');
  const config = at('config.yaml');
  const typed = (words: readonly string[], env = {}) => outcome([...words, '--config', config], { env });
  const use = (state_dir: string) =>
    writeFile(
      config,
      JSON.stringify({ version: 1, constituencies: {}, mqtt: { url: 'mqtt://127.0.0.1:9' }, state_dir }),
    );
  const documents = async () => Object.fromEntries(await collected(documentsOf(state)));
  const restore = (file: string, env = {}) => typed(['restore', file, '--yes', '--force'], env);
  async function kept(name: string) {
    const { code, errors } = await typed(['backup', at(name), '--force']);
    expect([code, errors]).toEqual([0, '']);
    return unpacked(await readFile(at(name))).documents;
  }
  /** As before any restore. */
  async function begin() {
    await rm(state, { recursive: true, force: true });
    await mkdir(state, { mode: 0o700 });
    await cp(fixture(was), state, { recursive: true });
  }

  await use(fixture(comes));
  await kept('new.gz');
  await use(state);
  await begin();
  const before = { documents: await documents(), kept: await kept('old.gz') };
  expect(await restore(at('new.gz'))).toMatchObject({ code: 0 });
  const after = await documents();
  expect(after).not.toEqual(before.documents);

  /** The restore has ended in one way or another. */
  async function judge({ code, output }: { readonly code: number | null; readonly output: string }) {
    const isUnderWay = await isRestoreUnderWay(state);
    if (output.includes('Restored.'))
      expect([code, isUnderWay, await documents()]).toEqual([0, false, after]);
    else if (!isUnderWay && code !== null) expect(await documents()).toEqual(before.documents);
    else if (!isUnderWay) expect([before.documents, after]).toContainEqual(await documents());
  }
  /** The next start, or the same restore, brings it to its end, and the copy brings back what was there. */
  async function finish(by: 'start' | 'restore') {
    const isNew = await documents().then((now) => JSON.stringify(now) === JSON.stringify(after));
    const wasUnderWay = await isRestoreUnderWay(state);
    if (by === 'start') await StateDirectory.open(state, logLines().log);
    const isOld = by === 'start' && !wasUnderWay && !isNew;
    if (by === 'restore') expect((await restore(at('new.gz'))).code).toBe(0);
    expect(await documents()).toEqual(isOld ? before.documents : after);
    if (isOld) return;
    expect((await restore(join(state, 'before-restore.gz'))).code).toBe(0);
    expect(await kept('again.gz')).toEqual(before.kept);
  }
  return { at, begin, restore, judge, finish };
}

test.each(HOUSEHOLDS)(
  'leaves the old state or the new one when a restore of $comes over $was is killed at any point',
  {
    timeout: 120_000 + 600_000 / STEP,
  },
  async (households) => {
    const { at, begin, restore, judge, finish } = await openRestore(await openStack().folder(), households);
    let points = 0;
    for (let died: string | undefined = ''; died !== undefined; points += 1) {
      await begin();
      const ended = await restore(at('new.gz'), { NODE_OPTIONS: DYING, DIE_AT: String(1 + points * STEP) });
      died = /died (.*)/.exec(ended.errors)?.[1];
      await judge(ended);
      await finish(points % 2 === 0 ? 'start' : 'restore');
    }
    expect(points * STEP).toBeGreaterThan(40);
  },
);

test.skipIf(!canMount()).each(HOUSEHOLDS)(
  'leaves the old state or the new one when a restore of $comes over $was finds no room at any point',
  { timeout: 300_000 },
  async (households) => {
    const disk = openStack().use(await openSmallDisk());
    const { at, begin, restore, judge, finish } = await openRestore(disk.path, households);
    const filler = join(disk.path, 'filler');
    const codes = new Set<number | null>();
    for (let blocks = 0; !codes.has(0); blocks += Math.ceil(STEP / 3)) {
      await begin();
      await disk.fill();
      await truncate(filler, (await stat(filler)).size - blocks * BLOCK_BYTES);
      const ended = await restore(at('new.gz'));
      codes.add(ended.code);
      await judge(ended);
      await disk.free();
      await finish(blocks % 2 === 0 ? 'start' : 'restore');
    }
    expect([...codes].toSorted()).toEqual([0, 1, 2]);
  },
);

// A process of its own that takes a lock again and again, and writes when it held it. Its clock runs fast. After each turn
// it leaves a dead holder's lock behind, so that the next turn begins with a stale one.
import { mkdir, writeFile } from 'node:fs/promises';
import { systemClock } from '../../src/foundation/clock.ts';
import { withLock } from '../../src/store/locks.ts';

const [lock = '', turns = '1', speed = '1'] = process.argv.slice(2);
const fast = {
  ...systemClock,
  monotonic: () => systemClock.monotonic() * Number(speed),
  sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms / Number(speed), signal),
};
/** The same in all processes of a machine. */
const now = () => Number(process.hrtime.bigint()) / 1e6;

for (let turn = 0; turn < Number(turns); ) {
  await withLock(lock, fast, { kind: 'command', held: new Set() }, async (isHeld) => {
    const from = now();
    await systemClock.sleep(3);
    process.stdout.write(`${JSON.stringify({ isHeld, from, to: now() })}\n`);
    turn += 1;
  }).catch((err) => {
    // With a fast clock a minute of waiting is over soon: it asks again.
    if (err.code !== 'state_busy') throw err;
  });
  // Unless another process has it by now.
  await mkdir(lock)
    .then(() => writeFile(`${lock}/command-dead-${process.pid}-${turn}`, ''))
    .catch(() => undefined);
}

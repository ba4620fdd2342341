// Loaded into a program before its own code: writes at its end how long its event loop was held up, the 99th percentile in milliseconds.
import { writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 10;
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delay.enable();
process.once('exit', () => {
  const file = process.env.BENCH_DELAY_FILE;
  if (file !== undefined) writeFileSync(file, String(delay.percentile(99) / 1e6 - RESOLUTION_MS));
});

// What each command does, by its name. Together they are one file of the bundle: a start reads that, and not twenty small ones.
import { check } from './check.ts';
import type { Command } from './command.ts';
import { config } from './config.ts';
import { constituencies } from './constituencies.ts';
import { demo } from './demo.ts';
import { healthcheck } from './healthcheck.ts';
import { invoices } from './invoices.ts';
import { report } from './report.ts';
import { run } from './run.ts';
import { usage } from './usage.ts';

export const everyCommand = {
  run,
  check,
  usage,
  invoices,
  constituencies,
  report,
  healthcheck,
  demo,
  config,
} satisfies Record<string, Command>;

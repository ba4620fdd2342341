// A command that destroys something, or changes it elsewhere, asks once.
import { type Io, wrongUsage } from './command.ts';

interface Askable {
  readonly options: { readonly yes?: true | undefined };
}

/** A command that asks before it changes something elsewhere: throws wrong_usage when there is no terminal. */
export function mustBeAnswerable(command: string, { options }: Askable, { isInteractive }: Io): void {
  if (!options.yes && !isInteractive)
    throw wrongUsage(`${command} asks once: without a terminal it needs --yes.`);
}

/** Asks, unless `--yes` has been given. Without agreement it says that nothing was changed. */
export async function isAgreed(question: string, { options }: Askable, { ask, out }: Io): Promise<boolean> {
  if (options.yes || /^\s*y(es)?\s*$/i.test((await ask(`${question} [y/N] `)) ?? '')) return true;
  out('Nothing was changed.\n');
  return false;
}

// heat2mqtt check: tries everything that run needs, one line each; the worst result decides the exit code.
import { EXIT, Failure, safeWords } from '../foundation/failure.ts';
import { liveChecks } from './check/live.ts';
import { machineChecks } from './check/machine.ts';
import type { Check, Outcome } from './check/outcome.ts';
import { adviceOf, type Io } from './command.ts';
import type { Command, Given } from './commands.ts';
import { printJson } from './printing.ts';
import { loadSettings } from './settings.ts';

/** A wrong configuration comes first, then what needs the user, then what may pass by itself. */
const WORST_FIRST = ['config', 'credentials', 'unexpected', 'provider', 'broker', 'homeAssistant'] as const;

export const check: Command<'check'> = async (given, io) => {
  const { json } = given.options;
  const results: Omit<Result, 'exitCode'>[] = [];
  const exitCodes = new Set<number>();
  for await (const tried of checksOf(given, io)) {
    const { exitCode, ...result } = await resultOf(tried);
    exitCodes.add(exitCode);
    results.push(result);
    if (!json) io.out(linesOf(result));
  }
  if (json) printJson({ ok: results.every(({ ok }) => ok), checks: results }, io);
  return EXIT[WORST_FIRST.find((kind) => exitCodes.has(EXIT[kind])) ?? 'fine'];
};

/** Each is begun once the one before has ended. */
async function* checksOf(given: Given<'check'>, io: Io): AsyncGenerator<Check> {
  const loading = loadSettings(given, io);
  yield {
    name: 'configuration',
    async run() {
      const { path: message = 'from the environment', warnings, notices } = await loading;
      const advice = notices.map((notice) => `${notice.message} ${notice.hint}`);
      return { message, hint: [...warnings, ...advice].join(' ') };
    },
  };
  const settings = await loading.catch(() => null);
  if (settings === null) return;
  yield* machineChecks(settings, io);
  if (given.options.live) yield* liveChecks(settings, io);
}

/** Programs read all of it but `exitCode`. */
type Result = Awaited<ReturnType<typeof resultOf>>;

async function resultOf({ name: check, run }: Check) {
  try {
    const outcome = await run();
    const { message, hint }: Outcome = typeof outcome === 'string' ? { message: outcome } : outcome;
    return { check, ok: true, message, hint: hint || undefined, exitCode: EXIT.fine };
  } catch (err) {
    const [exitCode, advice] =
      err instanceof Failure ? [err.exitCode, adviceOf(err)] : [EXIT.unexpected, undefined];
    return { check, ok: false, ...safeWords(err), hint: advice || undefined, exitCode };
  }
}

/** The lines below the first one of a check. */
const INDENT = '       ';

function linesOf({ check: name, ok, message, hint }: Omit<Result, 'exitCode'>): string {
  const text = `${ok ? 'ok    ' : 'FAILED'} ${name}: ${message.replaceAll('\n', `\n${INDENT}`)}\n`;
  return hint ? `${text}${INDENT}${hint}\n` : text;
}

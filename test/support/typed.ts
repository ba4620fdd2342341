// A command typed as in a shell, in this process: what it prints, and its exit code.
import type { Io } from '../../src/cli/command.ts';
import { runCommandLine } from '../../src/cli/commandLine.ts';
import { type Clock, systemClock } from '../../src/foundation/clock.ts';
import type { AccountOptions } from '../../src/simulator/accounts.ts';
import { startSimulator } from '../../src/simulator/provider.ts';
import { openStack } from './stack.ts';

/** What the marks of passwords cost where a test is about something else. A daemon and the commands beside it have to agree. */
export const CHEAP_SCRYPT_COST = 2;

/** A terminal that notes what is printed, with nobody to answer. */
export const ioTo = (out: string[], err: string[] = []): Io => ({
  out: (text) => void out.push(text),
  log: (line) => void out.push(line),
  err: (text) => void err.push(text),
  ask: async () => null,
  clock: systemClock,
  env: {},
  isTerminal: false,
  isInteractive: true,
  columns: 100,
  interrupted: new AbortController().signal,
  scryptCost: CHEAP_SCRYPT_COST,
});

/** The pauses of a command are over at once, such as those between two questions whether a person has agreed elsewhere. */
export const WITHOUT_PAUSES: Clock = { ...systemClock, sleep: (_, signal) => systemClock.sleep(1, signal) };

export interface Typist extends Partial<Omit<Io, 'out' | 'log' | 'err'>> {
  /** Gets whatever is printed, at once; questions too. */
  readonly hear?: (text: string) => void;
}

/** Rejects with what the command rejects with. */
export async function typed(words: readonly string[], { hear = () => {}, ...given }: Typist = {}) {
  const [out, err]: [string[], string[]] = [[], []];
  const io = { ...ioTo(out, err), ...given };
  const heard = (tell: Io['out']) => (text: string) => {
    tell(text);
    hear(text);
  };
  const ask: Io['ask'] = (question, isHidden) => {
    hear(question);
    return io.ask(question, isHidden);
  };
  const exitCode = await runCommandLine(words, {
    ...io,
    out: heard(io.out),
    log: heard(io.log),
    err: heard(io.err),
    ask,
  });
  return { out: out.join(''), err: err.join(''), exitCode };
}

/** A provider with one account, and the environment of a command that reads it, with an empty state directory. */
export async function openProviderFor(me: AccountOptions) {
  const stack = openStack();
  const simulator = stack.use(await startSimulator({ clock: systemClock, accounts: [me] }));
  const stateDir = await stack.folder();
  return { simulator, stateDir, env: environmentOf(simulator.urls, me, stateDir) };
}

export const ISSUER = 'https://id.example.org/auth/realms/energy';

/** The environment of somebody whose provider is not asked. */
export const environmentAt = (stateDirectory: string): Record<string, string> =>
  environmentOf(
    { issuer: ISSUER, api: 'https://api.example.org/api/v1' },
    { username: 'me@example.org', password: 'demo-of-the-heat' },
    stateDirectory,
  );

/** The environment of somebody with one account at a provider. */
const environmentOf = (
  { issuer, api }: { readonly issuer: string; readonly api: string },
  { username, password }: { readonly username: string; readonly password: string },
  stateDirectory: string,
): Record<string, string> => ({
  HEAT2MQTT_PROVIDER_ISSUER: issuer,
  HEAT2MQTT_PROVIDER_API_URL: api,
  HEAT2MQTT_PROVIDER_CLIENT_ID: 'self-care',
  HEAT2MQTT_USERNAME: username,
  HEAT2MQTT_PASSWORD: password,
  HEAT2MQTT_STATE_DIR: stateDirectory,
  // Whoever listens on the usual port of this machine is not asked.
  HEAT2MQTT_HTTP: 'false',
  // What the simulator holds for true is told by the days on which readings are taken.
  HEAT2MQTT_USAGE_READING_CLOSES: 'same_day',
});

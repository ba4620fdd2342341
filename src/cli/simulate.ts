// heat2mqtt simulate: the simulated provider alone, with a configuration that works with it, and on request a bad day.
import { once } from 'node:events';
import { createServer } from 'node:net';
import { systemClock } from '../foundation/clock.ts';
import { EXIT } from '../foundation/failure.ts';
import { type AccountOptions, demoAccounts, flatAccounts } from '../simulator/accounts.ts';
import type { MeterOptions } from '../simulator/meter.ts';
import { type Simulator, startSimulator } from '../simulator/provider.ts';
import { type Command, choiceOf, wrongOption, wrongUsage } from './command.ts';
import { untilInterrupted } from './settings.ts';

// Fixed, so that a configuration that was saved works the next time too.
const USUAL_PORT = 8180;
const MOST_ACCOUNTS = 1000;
const SLOW_MS = 20_000;
const LATE_DAYS = 4;
const CORRECTED_AFTER_MS = 2 * 60_000;

const WEB_PAGE = {
  kind: 'reply',
  status: 200,
  body: '<!doctype html><p>Please accept the terms of this network.',
  headers: { 'content-type': 'text/html' },
} as const;

interface BadDay {
  /** What to expect, for the person who rehearses it. */
  readonly tells: string;
  readonly heat?: (now: number) => MeterOptions;
  readonly begin?: (simulator: Simulator) => void;
}

const day = (instant: number) => new Date(instant).toISOString().slice(0, 10);

const BAD_DAYS = {
  'wrong-password': {
    tells:
      'The password below is wrong. The bridge tries it four times within a day, then waits for another one.',
    begin({ changePassword, accounts }) {
      for (const { username } of accounts) changePassword(username, 'changed elsewhere');
    },
  },
  down: {
    tells: 'Issuer and API break every connection.',
    begin: ({ switches }) => void switches.fault('/', { kind: 'reset' }),
  },
  slow: {
    tells: `Every answer takes ${SLOW_MS / 1000} seconds.`,
    begin: ({ switches }) => void switches.fault('/', { kind: 'slow', ms: SLOW_MS }),
  },
  late: {
    tells: `The last reading was taken ${LATE_DAYS} days ago.`,
    heat: (now) => ({ until: day(now - LATE_DAYS * 24 * 3_600_000) }),
  },
  correction: {
    tells: 'A recent day is an estimate. Two minutes from now it is corrected: poll before and after.',
    heat: (now) => ({ estimate: { until: now + CORRECTED_AFTER_MS } }),
  },
  html: {
    tells: 'The API answers with a web page, as the login page of a hotel does.',
    begin: ({ switches }) => void switches.fault('/api/', WEB_PAGE),
  },
} as const satisfies Record<string, BadDay>;

export const simulate: Command = async (given, io) => {
  const { port, accounts: count = '1', fault } = given.options;
  const wanted = portFrom(port);
  const most = Number(count);
  if (!Number.isInteger(most) || most < 1 || most > MOST_ACCOUNTS)
    throw wrongOption('--accounts', count, `a number from 1 to ${MOST_ACCOUNTS}`);
  const names = Object.keys(BAD_DAYS) as (keyof typeof BAD_DAYS)[];
  const badDay: BadDay | null = fault === undefined ? null : BAD_DAYS[choiceOf('--fault', fault, names)];
  const heat = badDay?.heat?.(io.clock.now());
  const accounts = most === 1 ? demoAccounts(1, heat) : flatAccounts(most, heat);
  const onPort = await freePort(wanted, USUAL_PORT);
  const simulator = await startSimulator({ clock: systemClock, accounts, port: onPort });
  // Other clients of such services send no PKCE challenge.
  simulator.switches.token.pkceRequired = false;
  badDay?.begin?.(simulator);
  try {
    io.out(configurationFor(simulator, accounts, badDay));
    await untilInterrupted(io);
  } finally {
    await simulator.stop();
  }
  return EXIT.fine;
};

/** All of it is YAML, so that it can be written to a file as it is. */
function configurationFor(
  { urls, switches }: Simulator,
  accounts: readonly AccountOptions[],
  badDay: BadDay | null,
): string {
  const [redirectUri = ''] = switches.token.redirectUris;
  const rows = accounts.map(({ username, password }) => {
    const id = accounts.length === 1 ? '' : `id: ${username.split('@')[0]}\n    `;
    return `  - ${id}username: ${username}\n    password: ${password}\n`;
  });
  return `# A simulated heat provider runs on this machine until Ctrl-C. This is a configuration that works with it.
# Save it as simulated.yaml. Then, in another terminal: heat2mqtt check --live --config simulated.yaml
# and: heat2mqtt run --config simulated.yaml
${badDay === null ? '' : `# It has a bad day. ${badDay.tells}\n`}version: 1
provider:
  issuer: ${urls.issuer}
  api_url: ${urls.api}
  client_id: self-care
  # Where a sign-in on the login page ends. It is not needed as long as the password alone is enough.
  redirect_uri: ${redirectUri}
accounts:
${rows.join('')}constituencies:
  base_url: ${urls.constituencies}
mqtt:
  # heat2mqtt brings its own broker. To use yours, write "url: mqtt://localhost:1883" in place of "embedded: true".
  embedded: true
  # Topics of their own, beside those of your real meters.
  base_topic: heat2mqtt-simulated
state_dir: ./state-simulated
`;
}

/** `null`: none was asked for. Throws wrong_usage. */
export function portFrom(option: unknown): number | null {
  if (option === undefined) return null;
  const port = Number(option);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw wrongOption('--port', option, 'a port from 0 to 65535');
}

/** The wanted port, which must be free (wrong_usage), else the usual one, else `0`, which stands for any. */
export async function freePort(wanted: number | null, usual: number): Promise<number> {
  if (await isFree(wanted ?? usual)) return wanted ?? usual;
  if (wanted !== null) throw wrongUsage(`--port: ${wanted} is taken; allowed: a free port.`);
  return 0;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
    return true;
  } catch {
    return false;
  } finally {
    await new Promise<void>((resolve) => void server.close(() => resolve()));
  }
}

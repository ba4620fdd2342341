// A realm, the API, a Mosquitto, and the built program beside them.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { PayloadByTopic } from '../../src/publication/payloads/payloads.ts';
import { freePort, startMosquitto } from '../e2e/mosquitto.ts';
import { outcome, run } from '../e2e/program.ts';
import type { Child } from '../support/child.ts';
import { HEALTH } from '../support/homes.ts';
import { startProbe } from '../support/probe.ts';
import { openStack } from '../support/stack.ts';
import { turn, waitFor } from '../support/waitFor.ts';
import { startApi } from './api.ts';
import { DAILY, type Home, SINCE } from './readings.ts';
import { CLIENT, ME, type Realm, type Settings } from './realm.ts';

export type Story = Awaited<ReturnType<typeof openStory>>;

interface StoryOptions {
  readonly home?: Home;
  /** Of the search engine, where the home's readings are. */
  readonly index?: string;
  /** Sections of the configuration over the usual ones. */
  readonly provider?: Settings;
  readonly account?: Settings;
  readonly usage?: Settings;
}

/** A poll every four seconds. */
export const OFTEN = { schedule: '*/4 * * * * *', allow_fast_schedule: true, jitter_seconds: 0 };

const LOOK_MS = 300;

/** To be called from within a test. */
export async function openStory(
  realm: Realm,
  { home = DAILY, index, provider, account, usage }: StoryOptions = {},
) {
  const stack = openStack();
  const folder = await stack.folder();
  const api = stack.use(await startApi(realm.issuer, home, index));
  const broker = stack.use(await startMosquitto(undefined, false));
  const probe = stack.use(await startProbe(broker.url, { protocolVersion: 5 }));
  const config = join(folder, 'config.yaml');
  const sections = {
    version: 1,
    provider: { issuer: realm.issuer, api_url: api.url, client_id: CLIENT, ...provider },
    accounts: [{ ...ME, ...account }],
    usage: { schedule: notSoon(), history_since: SINCE, ...closing(home), ...usage },
    extras: { meter_reading: false, balance: false, invoices: false },
    mqtt: { url: broker.url },
    http: { listen: `127.0.0.1:${await freePort()}` },
    state_dir: join(folder, 'state'),
  };
  // JSON is YAML.
  await writeFile(config, JSON.stringify(sections));

  let program: Child | undefined;
  const start = () => {
    program = stack.use(run(['run', '--config', config]));
    return program;
  };
  const diagnose = () => ({
    health: health(),
    api: api.seen.slice(-5),
    output: program?.output.slice(-2_000),
    errors: program?.errors,
  });

  const health = () => inShort(probe.json(HEALTH));
  return {
    stack,
    probe,
    config,
    start,
    /** Runs a command to its end. */
    command: (...words: string[]) => outcome([...words, '--config', config]),
    health,
    /** Waits until what is said now pleases. */
    until: (what: string, pleases: (health: Health) => boolean) =>
      waitFor(what, () => pleases(health()), { diagnose }),
    /** The same for what is asked elsewhere. */
    untilAsync: (what: string, isSo: () => Promise<boolean>) =>
      waitFor(what, () => turn(LOOK_MS).then(isSo), { diagnose }),
    /** Waits until the account's session is well and the last poll went well. */
    untilWell: () =>
      waitFor('a bridge that is well', () => health().state === 'ok' && health().hasPolled, { diagnose }),
    /** The refresh token as it is on disk. */
    async refreshToken(): Promise<string> {
      const text = await readFile(join(folder, 'state/accounts/home/tokens.json'), 'utf8');
      return JSON.parse(text).value.refreshToken;
    },
  };
}

/** Nothing that was said blames the password. */
export function expectNoBlame({ probe }: Story, log: string): void {
  const topics = [HEALTH, 'heat2mqtt/bridge/event', 'heat2mqtt/account/home/state'];
  const said = topics.flatMap((topic) => probe.on(topic)).map(({ payload }) => payload);
  expect([log, ...said].filter((text) => /bad_credentials|login refused/.test(text))).toEqual([]);
}

type Health = ReturnType<typeof inShort>;

/** What health says, and before it says anything. */
const inShort = (said?: Record<string, unknown>) => {
  const health = said as PayloadByTopic['bridge/health'] | undefined;
  return {
    state: health?.state,
    auth: health?.auth.home?.state ?? 'unknown',
    /** Those of the reasons, the worst first. */
    codes: (health?.reasons ?? []).map(({ code }): string => code),
    lastError: health?.last_error ?? null,
    loginsToday: health?.logins_today ?? 0,
    /** Before, nothing is known to be wrong. */
    hasPolled: typeof health?.last_success_at === 'string',
  };
};

/** In half an hour at the earliest. */
const notSoon = (): string => `${(new Date().getMinutes() + 30) % 60} */4 * * *`;

/** The daily readings tell by themselves that they close the day before. All readings end some days ago. */
const closing = ({ every }: Home) => ({
  reading_closes: every === 'day' ? 'auto' : 'same_day',
  late_after_hours: 240,
});

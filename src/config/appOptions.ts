// Within an app of Home Assistant: its options, and the broker that the Supervisor knows, as environment variables.
import * as z from 'zod';
import type { Environment } from './environment.ts';
import type { Faults } from './faults.ts';
import { KNOWN_PROVIDERS } from './providers.ts';
import { isMapping, type RawConfig } from './rawConfig.ts';
import { decodeText, type ReadFile, whyUnreadable } from './secret.ts';

interface Access {
  readonly readFile: ReadFile;
  readonly fetch: typeof fetch;
  readonly faults: Faults;
}

const OPTIONS = '/data/options.json';
const BROKER_SERVICE = 'http://supervisor/services/mqtt';
const PATIENCE_MS = 10_000;
const NO_BROKER = 'the app "Mosquitto broker" installed and started, or mqtt_url in the options of this app';

const brokerReply = z.object({
  data: z.object({
    host: z.string().min(1),
    port: z.number().int(),
    ssl: z.boolean().default(false),
    username: z.string().nullish(),
    password: z.string().nullish(),
  }),
});

/** The environment as it is, unless a Supervisor has started us; what the environment says wins over an option. */
export async function withAppOptions(env: Environment, access: Access): Promise<Environment> {
  const token = env.SUPERVISOR_TOKEN;
  if (token === undefined || token === '') return env;
  const options = await readOptions(access);
  if (options === undefined) return env;
  const given = { ...variablesOf(options), ...env };
  const broker = given.HEAT2MQTT_MQTT_URL ? {} : await askForBroker(token, access);
  return { ...broker, ...given };
}

async function readOptions({ readFile, faults }: Access): Promise<RawConfig | undefined> {
  let text: string;
  try {
    text = decodeText(await readFile(OPTIONS));
  } catch (error) {
    const found = whyUnreadable(error);
    if (found !== 'no such file') faults.add(OPTIONS, found, 'a readable file');
    return undefined;
  }
  try {
    const options: unknown = JSON.parse(text);
    if (isMapping(options)) return options;
  } catch {
    // Said below.
  }
  faults.add(OPTIONS, 'something else than options', 'a JSON object, as the Supervisor writes it');
  return undefined;
}

/** `mqtt_url` is HEAT2MQTT_MQTT_URL; an option that is empty is not given. */
function variablesOf(given: RawConfig): Record<string, string> {
  const { statistics, more_accounts: more, ...options } = { ...presetOf(given), ...withoutEmpty(given) };
  const accounts = Array.isArray(more) ? more.filter(isMapping) : [];
  const named = [
    ...Object.entries(options).filter(([name, value]) => name !== 'provider' || !isPreset(value)),
    // Switched on, its way leads through the Supervisor; nothing has to be said.
    ...(statistics === false ? [['home_assistant', false] as const] : []),
    // Several accounts need a name each.
    ...(accounts.length > 0 ? [['accounts_0_id', 'home'] as const] : []),
    ...accounts.flatMap((account, n) =>
      Object.entries(withoutEmpty(account)).map(
        ([name, value]) => [`accounts_${n + 1}_${name}`, value] as const,
      ),
    ),
  ];
  return Object.fromEntries(named.map(([name, value]) => [`HEAT2MQTT_${name.toUpperCase()}`, String(value)]));
}

const OTHER_PROVIDER = 'other';
const isPreset = (word: unknown): boolean =>
  word === OTHER_PROVIDER || KNOWN_PROVIDERS.some(({ id }) => id === word);

/** The options that the provider of this name stands for; what is filled in beside it counts more. */
function presetOf({ provider: word }: RawConfig): RawConfig {
  const known = KNOWN_PROVIDERS.find(({ id }) => id === word);
  const { provider = {}, usage = {} } = known ?? {};
  const named = (section: string, keys: object) =>
    Object.entries(keys).map(([key, value]) => [`${section}_${key}`, value]);
  return Object.fromEntries([...named('provider', provider), ...named('usage', usage)]);
}

const withoutEmpty = (options: RawConfig): RawConfig =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== null && value !== ''));

async function askForBroker(token: string, { fetch, faults }: Access): Promise<Record<string, string>> {
  const refuse = (found: string) => {
    faults.add('mqtt.url', found, NO_BROKER);
    return {};
  };
  try {
    const response = await fetch(BROKER_SERVICE, {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    // 400 "Service not enabled": no app offers a broker.
    if (response.status === 400) return refuse('no broker that Home Assistant knows of');
    if (!response.ok) return refuse(`status ${response.status} from the Supervisor instead of a broker`);
    const reply = brokerReply.safeParse(await response.json());
    if (!reply.success) return refuse('an answer of the Supervisor that names no broker');
    const { host, port, ssl, username, password } = reply.data.data;
    return {
      HEAT2MQTT_MQTT_URL: `mqtt${ssl ? 's' : ''}://${host}:${port}`,
      ...(username ? { HEAT2MQTT_MQTT_USERNAME: username } : {}),
      ...(password ? { HEAT2MQTT_MQTT_PASSWORD: password } : {}),
    };
  } catch {
    return refuse('no answer from the Supervisor about a broker');
  }
}

// Within an app of Home Assistant: its options, and the broker that the Supervisor knows, as environment variables.
import * as z from 'zod';
import { type Draft, isMapping, type RawConfig } from './draft.ts';
import type { Environment } from './environment.ts';
import { KNOWN_PROVIDERS } from './providers.ts';
import { decodeText, NO_SUCH_FILE, type ReadFile, whyUnreadable } from './secret.ts';

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
export async function withAppOptions(
  env: Environment,
  draft: Draft,
  readFile: ReadFile,
  fetcher: typeof fetch,
): Promise<Environment> {
  const token = env.SUPERVISOR_TOKEN;
  const options = token ? await readOptions(draft, readFile) : undefined;
  if (!token || options === undefined) return env;
  const given = { ...variablesOf(options), ...env };
  const broker = given.HEAT2MQTT_MQTT_URL ? {} : await askForBroker(token, draft, fetcher);
  return { ...broker, ...given };
}

async function readOptions(draft: Draft, readFile: ReadFile): Promise<RawConfig | undefined> {
  const text = await readFile(OPTIONS).then(decodeText, (error) => {
    const found = whyUnreadable(error);
    if (found !== NO_SUCH_FILE) draft.refuse(OPTIONS, 'a readable file', found);
  });
  if (text === undefined) return undefined;
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
  } catch {
    draft.refuse(OPTIONS, 'a JSON object, as the Supervisor writes it', 'something else than options');
    return undefined;
  }
}

/** `mqtt_url` is HEAT2MQTT_MQTT_URL; an option that is empty is not given. */
function variablesOf(given: RawConfig): Record<string, string> {
  const { provider, statistics, more_accounts, ...options } = withoutEmpty(given);
  const known = KNOWN_PROVIDERS.find(({ id }) => id === provider);
  const accounts = Array.isArray(more_accounts) ? more_accounts.filter(isMapping) : [];
  const named = {
    ...prefixed('provider', known?.provider),
    ...prefixed('usage', known?.usage),
    // A provider that the program does not know is told as an unknown variable.
    ...(known || provider === undefined || provider === 'other' ? {} : { provider }),
    // Switched on, its way leads through the Supervisor; nothing has to be said.
    ...(statistics === false ? { home_assistant: false } : {}),
    // Several accounts need a name each.
    ...(accounts.length > 0 ? { accounts_0_id: 'home' } : {}),
    ...Object.assign({}, ...accounts.map((account, n) => prefixed(`accounts_${n + 1}`, account))),
    // What is filled in beside a known provider counts more.
    ...options,
  };
  return Object.fromEntries(
    Object.entries(named).map(([name, value]) => [`HEAT2MQTT_${name.toUpperCase()}`, String(value)]),
  );
}

const withoutEmpty = (options: object): RawConfig =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== null && value !== ''));

const prefixed = (section: string, keys: object = {}): RawConfig =>
  Object.fromEntries(Object.entries(withoutEmpty(keys)).map(([key, value]) => [`${section}_${key}`, value]));

async function askForBroker(
  token: string,
  draft: Draft,
  fetcher: typeof fetch,
): Promise<Record<string, string>> {
  const refuse = (found: string) => {
    draft.refuse('mqtt.url', NO_BROKER, found);
    return {};
  };
  try {
    const response = await fetcher(BROKER_SERVICE, {
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

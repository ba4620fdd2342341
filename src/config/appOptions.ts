// The options of an app of Home Assistant, and the broker that its Supervisor knows, as variables.
import type { Draft } from './draft.ts';
import type { Environment } from './environment.ts';
import { variableOf } from './keys.ts';
import { KNOWN_PROVIDERS } from './providers.ts';
import * as secrets from './secret.ts';
import { isMapping, leavesOf, type RawConfig } from './source.ts';

const OPTIONS = '/data/options.json';
const BROKER_SERVICE = 'http://supervisor/services/mqtt';
const PATIENCE_MS = 10_000;
const NO_BROKER = 'the app "Mosquitto broker" installed and started, or mqtt_url in the options of this app';

/** The environment as it is, unless a Supervisor has started us; what the environment says wins over an option. */
export async function withAppOptions(
  env: Environment,
  draft: Draft,
  readFile: secrets.ReadFile,
  fetcher: typeof fetch,
): Promise<Environment> {
  const token = env.SUPERVISOR_TOKEN;
  if (!token) return env;
  const options = await readOptions(draft, readFile);
  if (options === undefined) return env;
  const given = { ...variablesOf(options), ...env };
  if (given.HEAT2MQTT_MQTT_URL) return given;
  return { ...flat({ mqtt: await askForBroker(token, draft, fetcher) }), ...given };
}

async function readOptions(draft: Draft, readFile: secrets.ReadFile): Promise<RawConfig | undefined> {
  try {
    const options: unknown = JSON.parse(secrets.decodeText(await readFile(OPTIONS)));
    if (isMapping(options)) return options;
  } catch (error) {
    if (secrets.whyUnreadable(error) === secrets.NO_SUCH_FILE) return undefined;
  }
  const allowed = 'a readable JSON object, as the Supervisor writes it';
  draft.refuse([OPTIONS], allowed, 'something else than options');
  return undefined;
}

/** A value that is filled in counts more than one that is known of the provider. */
function variablesOf({ provider, statistics, more_accounts: more, ...options }: RawConfig): Environment {
  const preset = KNOWN_PROVIDERS.find(({ id }) => id === provider);
  const isSeveral = Array.isArray(more) && more.length > 0;
  return {
    ...flat({
      // One that the program does not know is told as an unknown variable.
      provider: preset?.provider ?? (provider === 'other' ? undefined : provider),
      usage: preset?.usage,
      // Switched on, its way leads through the Supervisor; nothing has to be said.
      home_assistant: statistics === false ? false : undefined,
      // Several accounts need a name each.
      accounts: isSeveral ? [{ id: 'home' }, ...more] : undefined,
    }),
    ...flat(options),
  };
}

/** `mqtt_url` is HEAT2MQTT_MQTT_URL, and so is `url` in `mqtt`; what is empty is not given. */
function flat(options: RawConfig): Environment {
  const given = leavesOf(options).filter(([, value]) => (value ?? '') !== '' && !isMapping(value));
  return Object.fromEntries(given.map(([path, value]) => [variableOf(path), String(value)]));
}

/** Resolves to nothing but a fault when there is none. */
async function askForBroker(token: string, draft: Draft, fetcher: typeof fetch): Promise<RawConfig> {
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
    if (!response.ok && response.status !== 400)
      return refuse(`status ${response.status} from the Supervisor instead of a broker`);
    // Odd characters in it make an address that the schema refuses.
    const { host, port, ssl, username, password } = Object(Object(await response.json()).data);
    if (!host) return refuse('no broker that Home Assistant knows of');
    return { url: `mqtt${ssl ? 's' : ''}://${host}:${port}`, username, password };
  } catch {
    return refuse('no answer from the Supervisor about a broker');
  }
}

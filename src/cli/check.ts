// heat2mqtt check: tries everything that run needs, one line each; the worst result decides the exit code.
import { access, constants, stat } from 'node:fs/promises';
import { strayNames } from '../accounts/friendlyNames.ts';
import type { Account, Config } from '../config/schema.ts';
import type { Secret } from '../config/secret.ts';
import { keysIn, totpParameters } from '../config/secretForms.ts';
import { PublicList } from '../constituencies/publicList.ts';
import { caveat } from '../domain/constituency.ts';
import { addDays, zone as zoneOf } from '../domain/period.ts';
import { type Property, seriesName } from '../domain/reading.ts';
import { DAYS_LOOKED_AT, isContradicted } from '../domain/readingCloses.ts';
import { EXIT, Failure, safeWords } from '../foundation/failure.ts';
import { checkTemperature, visitHomeAssistant } from '../homeassistant/recorder.ts';
import { openBroker } from '../mqtt/broker.ts';
import { clientIdOf } from '../store/installation.ts';
import { makePrivateDirectory } from '../store/privateFiles.ts';
import { directoryNotices, StateDirectory, stateUnwritable } from '../store/stateDirectory.ts';
import type { Command, Io } from './command.ts';
import { printJson } from './printing.ts';
import { closingWords, findClosing } from './readingCloses.ts';
import { loadSettings, openSilentLog, type Settings } from './settings.ts';
import { lookAtFleet, openUpstreamBeside } from './upstream.ts';

interface Result {
  readonly check: string;
  readonly ok: boolean;
  readonly message: string;
  readonly hint?: string;
  readonly code?: string;
  readonly exitCode: number;
}

/** Resolves to a sentence on what was found. */
type Probe = () => Promise<string>;

export const check: Command = async (given, io) => {
  const results: Result[] = [];
  const tell = (result: Result) => {
    results.push(result);
    if (given.options.json) return;
    io.out(`${result.ok ? 'ok    ' : 'FAILED'} ${result.check}: ${result.message}\n`);
    if (result.hint) io.out(`       ${result.hint}\n`);
  };
  let settings: Settings | null = null;
  let advice = {};
  const configuration = await probe('configuration', async () => {
    settings = await loadSettings(given, io);
    const notices = settings.notices.map(({ message, hint }) => `${message} ${hint}`);
    const all = [...settings.warnings, ...notices];
    if (all.length > 0) advice = { hint: all.join(' ') };
    return settings.path ?? 'from the environment';
  });
  tell({ ...configuration, ...advice });
  if (settings !== null) {
    const probes = offlineProbes(settings, io);
    for (const [name, run] of Object.entries(probes)) tell(await probe(name, run));
    if (given.options.live)
      for (const [name, run] of Object.entries(liveProbes(settings, io))) tell(await probe(name, run));
  }
  if (given.options.json) {
    const rows = results.map(({ exitCode: _, ...row }) => row);
    printJson({ ok: results.every(({ ok }) => ok), checks: rows }, io);
  }
  return worst(results);
};

async function probe(name: string, run: Probe): Promise<Result> {
  try {
    return { check: name, ok: true, message: await run(), exitCode: EXIT.fine };
  } catch (err) {
    const exitCode = err instanceof Failure ? err.exitCode : EXIT.unexpected;
    return { check: name, ok: false, ...safeWords(err), exitCode };
  }
}

/** A wrong configuration comes first, then what needs the user, then what may pass by itself. */
function worst(results: readonly Result[]): number {
  const { config, credentials, unexpected, provider, broker, homeAssistant } = EXIT;
  const order = [config, credentials, unexpected, provider, broker, homeAssistant];
  return order.find((code) => results.some(({ exitCode }) => exitCode === code)) ?? EXIT.fine;
}

/** By the name of what is tried, in this order. */
type Probes = Record<string, Probe>;

function offlineProbes(settings: Settings, io: Io): Probes {
  const { config, path } = settings;
  const { mqtt, web, home_assistant, fleet } = config;
  const accounts = fleet ? [] : config.accounts;
  const probes: Probes = {};
  const tell = (name: string, secret: Secret | undefined, size = characters) => {
    if (secret)
      probes[name] = async () =>
        `${size(await secret.read())}, ${secret.origin}${await openness(secret, path)}`;
  };
  for (const { id, password, totp_secret } of accounts) {
    tell(`password of ${id}`, password);
    tell(
      `totp_secret of ${id}`,
      totp_secret,
      (text) => `${characters(totpParameters(text)?.secret ?? '')} of base32`,
    );
  }
  tell('password of the broker', mqtt.password);
  tell('password of the own broker', mqtt.embedded ? mqtt.embedded.password : undefined);
  tell('password of mqtt.key_file', mqtt.key_password);
  tell('password of the page', web ? web.password : undefined);
  tell('token of Home Assistant', home_assistant?.token);
  tell('fleet.database_url', fleet?.database_url);
  tell('fleet.key', fleet?.key, (keys) => `${keysIn(keys).length} of 32 bytes`);
  if (fleet) {
    probes['database of the fleet'] = async () => {
      const found = await lookAtFleet(settings, io);
      return `${found?.health.fleet.accounts} account(s), ${found?.health.fleet.processes.length} process(es) at work`;
    };
    return probes;
  }
  probes['state directory'] = async () => {
    try {
      await makePrivateDirectory(config.state_dir);
      await access(config.state_dir, constants.R_OK | constants.W_OK | constants.X_OK);
    } catch (err) {
      throw stateUnwritable(config.state_dir, err);
    }
    const unsafe = await directoryNotices(config.state_dir, process.getuid?.());
    return [config.state_dir, ...unsafe.map(({ message, hint }) => `${message} ${hint}`)].join('. ');
  };
  return probes;
}

const FOR_OTHERS = 0o004;
/** Where a container gets its secrets, each readable by whatever user it runs as. */
const GIVEN_TO_A_CONTAINER = '/run/secrets/';

const characters = (text: string): string => `${[...text].length} characters`;

async function openness({ path, origin }: Secret, configuration: string | undefined): Promise<string> {
  const file = origin === 'inline' ? configuration : path;
  if (file === undefined || file.startsWith(GIVEN_TO_A_CONTAINER)) return '';
  const { mode } = await stat(file);
  const which = origin === 'inline' ? file : 'it';
  return mode & FOR_OTHERS ? `. Every user of this machine can read ${which}: chmod 600 ${file}` : '';
}

function liveProbes(settings: Settings, io: Io): Probes {
  const { constituencies, meters, mqtt, home_assistant, usage, fleet } = settings.config;
  const accounts = fleet ? [] : settings.config.accounts;
  const probes: Probes = {};
  const readers: Readers = new Map();
  const found: Found = new Map();
  for (const account of accounts) {
    probes[`provider for ${account.id}`] = () => tryProvider(settings, account, io, { readers, found });
  }
  if (!fleet && Object.keys(meters).length > 0)
    probes.meters = async () => namesWords(meters, found, accounts.length);
  if (constituencies) {
    probes.constituencies = async () => {
      const publicList = new PublicList(constituencies, io.clock);
      const answered = await publicList.read(publicList.readQuestion({}));
      return caveat(answered) ?? `${answered.list.constituencies?.length} in the configured list`;
    };
  }
  if (mqtt.embedded === false) probes.broker = () => tryBroker(settings, io);
  if (home_assistant) {
    probes['Home Assistant'] = async () => {
      const address = { url: home_assistant.url, token: await home_assistant.token.read() };
      return visitHomeAssistant(address, io.clock, async (home, { timezone }) => {
        const sensor = home_assistant.outdoor_temperature;
        if (sensor !== undefined) await checkTemperature(home, sensor);
        const isSame = timezone === null || timezone === usage.timezone;
        const caution = '; its time zone is not usage.timezone: days may begin at another hour there';
        const temperatures = sensor === undefined ? '' : ', outdoor temperatures can be read';
        return `version ${home.version}, statistics can be written${temperatures}${isSame ? '' : caution}`;
      });
    };
  }
  return probes;
}

const LOOK_BACK_DAYS = 14;

/** By property, the first account that has it. */
type Readers = Map<string, string>;

/** By account, what is found for it. */
type Found = Map<string, readonly Property[]>;

async function tryProvider(
  settings: Settings,
  account: Account,
  io: Io,
  { readers, found: foundOf }: { readonly readers: Readers; readonly found: Found },
): Promise<string> {
  const { usage } = settings.config;
  let signedIn = 'the stored session is good (the password was not tried)';
  const onLogin = () => {
    signedIn = 'signed in';
  };
  const upstream = await openUpstreamBeside(settings, account, io, { onLogin });
  await upstream.askForLogin();
  const { properties } = await upstream.provider.discover();
  if (upstream.session.lacksRefreshToken)
    signedIn += ' without a refresh token, though provider.offline_access is on: the issuer gave none';
  foundOf.set(account.id, properties);
  const zone = zoneOf(usage.timezone);
  const today = zone.dayAt(Date.now());
  const span = { from: addDays(today, -LOOK_BACK_DAYS), to: addDays(today, 1) };
  const [property] = properties;
  const found = `${signedIn}, ${properties.length} heat meter(s): ${numbersOf(properties)}${duplicateWords(properties, account, readers)}`;
  if (!property) return found;
  const closing = await findClosing(settings, upstream, { account: account.id, property, zone });
  // One usage query is enough: the one for the hours is made of the same parts.
  if (closing.days !== null)
    return `${found}, ${closing.days} day(s) with readings in ${DAYS_LOOKED_AT}, ${closingWords(closing)}`;
  const { closes: readingCloses, from } = closing;
  const { propertyCustomerId } = property;
  const question = { propertyCustomerId, span, interval: 'day', zone, readingCloses } as const;
  const buckets = await upstream.provider.usage(question);
  const times = buckets.flatMap(({ readAt }) => readAt ?? []);
  const doubt =
    from === 'state' && isContradicted(readingCloses, times, zone)
      ? '; the newest readings contradict that: a backfill from the first day on decides anew'
      : '';
  return `${found}, ${buckets.length} day(s) with readings in ${LOOK_BACK_DAYS}, ${closingWords(closing)}${doubt}`;
}

const MOST_NUMBERS = 20;

function numbersOf(properties: readonly Property[]): string {
  const numbers = properties.flatMap((one) =>
    one.meterIdentifiers.length > 0 ? one.meterIdentifiers : [seriesName(one)],
  );
  return `${numbers.slice(0, MOST_NUMBERS).join(', ')}${numbers.length > MOST_NUMBERS ? ' and more' : ''}`;
}

function namesWords(names: Config['meters'], found: Found, accounts: number): string {
  if (found.size < accounts) return 'not tried, because not every account could be read';
  const properties = [...found.values()].flat();
  const known = new Set(properties.flatMap((one) => [seriesName(one), ...one.meterIdentifiers]));
  const strays = strayNames(names, known);
  if (strays.length === 0) return 'every name is that of a meter';
  return `no account has ${strays.join(', ')}, named in meters; there is ${numbersOf(properties)}`;
}

function duplicateWords(properties: readonly Property[], { id }: Account, readers: Readers): string {
  const shared = new Set<string>();
  for (const { propertyCustomerId } of properties) {
    const reader = readers.get(propertyCustomerId);
    if (reader === undefined) readers.set(propertyCustomerId, id);
    else shared.add(reader);
  }
  const others = [...shared].join(' and ');
  return shared.size === 0 ? '' : ` (also of the account ${others}: a meter is read once, by one of them)`;
}

async function tryBroker({ config, scrubber }: Settings, io: Io): Promise<string> {
  const state = new StateDirectory(config.state_dir, await openSilentLog(scrubber, io));
  const connection = await openBroker(config.mqtt, await clientIdOf(state), 'check', io.clock);
  await connection.close(1_000);
  return `connected with MQTT ${connection.version === 5 ? '5' : '3.1.1'}`;
}

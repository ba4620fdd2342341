// heat2mqtt check: tries everything that run needs, one line each; the worst result decides the exit code.
import { rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { strayNames } from '../accounts/names.ts';
import { openTo, pageAddress, weaknessOf, whyNoPage } from '../config/listenAddress.ts';
import type { Account, Config, Embedded } from '../config/schema.ts';
import { keysIn, type Secret, totpParameters } from '../config/secret.ts';
import { openPublicList } from '../constituencies/publicList.ts';
import { caveat } from '../domain/constituency.ts';
import { addDays, isSameZone } from '../domain/period.ts';
import { type Property, seriesName, withFound } from '../domain/reading.ts';
import { DAYS_LOOKED_AT, isContradicted } from '../domain/readingCloses.ts';
import { nextTimes } from '../engine/schedule.ts';
import { readAuthorities } from '../foundation/authorities.ts';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, Failure, safeWords } from '../foundation/failure.ts';
import { visitHomeAssistant } from '../homeassistant/commands.ts';
import { checkTemperature } from '../homeassistant/recorder.ts';
import { proxyNotice } from '../http/proxy.ts';
import { startEmbedded } from '../mqtt/broker.ts';
import { makePrivateDirectory, PRIVATE_FILE, pathsBelow, refuseLinks } from '../store/privateFiles.ts';
import { directoryNotices, stateUnwritable } from '../store/stateDirectory.ts';
import { openServer } from '../web/server.ts';
import { closingWords, findClosing, openUpstreamBeside } from './account.ts';
import { brokerCheck } from './checkBroker.ts';
import { witnessWords } from './checkWitness.ts';
import { adviceOf, type Command, type Io } from './command.ts';
import { askHealth, lookAtFleet } from './healthcheck.ts';
import { printJson } from './printing.ts';
import { loadSettings, type Settings, secretsOf } from './settings.ts';

/** The result of a check, and its advice. */
interface Outcome {
  readonly message: string;
  readonly hint?: string;
}
/** Tells what came of it. */
type Attempt = (check: string, run: () => Promise<string | Outcome>) => Promise<void>;

/** A wrong configuration comes first, then what needs the user, then what may pass by itself. */
const WORST_FIRST = ['config', 'credentials', 'unexpected', 'provider', 'broker', 'homeAssistant'] as const;

/** The lines below the first one of a check. */
const INDENT = '       ';

export const check: Command = async (given, io) => {
  const { live, json } = given.options;
  const checks: { readonly ok: boolean }[] = [];
  const exitCodes = new Set<number>();
  const attempt: Attempt = async (check, run) => {
    const result: Outcome & { readonly ok: boolean } = await run().then(
      (outcome) => ({ check, ok: true, ...(typeof outcome === 'string' ? { message: outcome } : outcome) }),
      (err) => {
        exitCodes.add(err instanceof Failure ? err.exitCode : EXIT.unexpected);
        const hint = err instanceof Failure ? adviceOf(err) : undefined;
        return { check, ok: false, ...safeWords(err), ...(hint ? { hint } : {}) };
      },
    );
    checks.push(result);
    if (json) return;
    io.out(
      `${result.ok ? 'ok    ' : 'FAILED'} ${check}: ${result.message.replaceAll('\n', `\n${INDENT}`)}\n`,
    );
    if (result.hint) io.out(`${INDENT}${result.hint}\n`);
  };
  const loading = loadSettings(given, io);
  await attempt('configuration', async () => {
    const { path: message = 'from the environment', warnings, notices } = await loading;
    const advice = [...warnings, ...notices.map((notice) => `${notice.message} ${notice.hint}`)];
    return advice.length === 0 ? message : { message, hint: advice.join(' ') };
  });
  const settings = await loading.catch(() => null);
  if (settings) await tryOffline(settings, attempt, io.clock);
  if (settings) await lookAtProxy(settings, attempt, io);
  if (settings && live) await tryLive(settings, attempt, io);
  if (json) printJson({ ok: checks.every(({ ok }) => ok), checks }, io);
  return EXIT[WORST_FIRST.find((kind) => exitCodes.has(EXIT[kind])) ?? 'fine'];
};

async function tryOffline(settings: Settings, attempt: Attempt, clock: Clock): Promise<void> {
  const { config, path } = settings;
  const { fleet, http } = config;
  const { embedded } = config.mqtt;
  for (const [name, file] of authoritiesOf(config))
    await attempt(name, () => tryAuthorities(name, file, clock.now()));
  for (const [name, secret] of secretsOf(config))
    await attempt(name, async () => {
      const text = await secret.read();
      const message = `${sizeOf(name, text)}, ${secret.origin}${await openness(secret, path)}`;
      // The password of an account is somebody else's rule.
      const caution = (await secret.caution()) ?? (name === PAGE ? weaknessOf(text) : null);
      return caution === null ? message : { message, hint: caution };
    });
  // Without an account nothing is polled.
  if (fleet || config.accounts.length > 0) await attempt('schedule', async () => scheduleWords(settings));
  const { isAnswered: isBesideDaemon } = await askHealth(config, clock);
  if (http !== false) await attempt('page', () => tryPage(config, http.listen, isBesideDaemon, clock));
  if (!fleet) {
    if (embedded)
      await attempt('own broker', () => tryOwnBroker(embedded, config.mqtt, isBesideDaemon, clock));
    await attempt('state directory', () => tryStateDirectory(config));
    for (const { meter, ...words } of await witnessWords(settings, clock))
      await attempt(`witness of ${meter}`, async () => words);
    return;
  }
  await attempt('database of the fleet', async () => {
    const { accounts, processes } = (await lookAtFleet(fleet, settings)).health.fleet;
    return `${accounts} account(s), ${processes.length} process(es) at work`;
  });
}

/** No line where the environment names none. */
async function lookAtProxy({ config }: Settings, attempt: Attempt, { env }: Io): Promise<void> {
  const { provider, constituencies } = config;
  const addresses = [provider?.issuer, provider?.api_url, constituencies?.base_url];
  const notice = proxyNotice(
    addresses.filter((address) => address !== undefined),
    env,
  );
  if (notice) await attempt('proxy', async () => notice);
}

/** The files of authorities that count, each with its key. */
function authoritiesOf({ provider, mqtt }: Config): [string, string][] {
  const files = {
    'provider.ca_file': provider?.ca_file,
    'mqtt.ca_file': mqtt.reject_unauthorized && mqtt.ca_file,
  };
  return Object.entries(files).flatMap(([key, file]): [string, string][] => (file ? [[key, file]] : []));
}

/** An authority that has lapsed is a fault of every certificate below it, and looks like theirs. */
async function tryAuthorities(key: string, file: string, now: number): Promise<Outcome> {
  const { certificates } = await readAuthorities(key, file);
  const lapsed = certificates.filter(({ validTo }) => Date.parse(validTo) < now).length;
  const message = `${certificates.length} certificate(s), file ${file}`;
  if (lapsed === 0) return { message };
  return { message, hint: `Expired: ${lapsed} of them. Ask the authority for its present one.` };
}

/** Whether the port is free, or taken by heat2mqtt itself, and who is shown a page there. */
async function tryPage(
  config: Config,
  listen: string,
  isBesideDaemon: boolean,
  clock: Clock,
): Promise<Outcome> {
  const place = config.fleet ? 'health and metrics' : placeOfPage(config, listen);
  const refused = config.fleet ? null : whyNoPage(config);
  // The listener there is that daemon.
  if (!isBesideDaemon)
    await openServer(listen, (_, response) => response.end(), { clock }).then((opened) => opened.stop());
  if (refused !== null) return refused;
  return { message: isBesideDaemon ? `${place}, served by the daemon that runs` : place };
}

/** Whether its port is free, unless the daemon beside which this runs may have it. */
async function tryOwnBroker(
  { host, port }: Embedded,
  mqtt: Config['mqtt'],
  isBesideDaemon: boolean,
  clock: Clock,
): Promise<string> {
  const place = `${host}:${port}`;
  if (isBesideDaemon) return `${place}, with the daemon that runs`;
  const broker = await startEmbedded(mqtt, { clock });
  await broker?.stop();
  return place;
}

function placeOfPage(config: Config, listen: string): string {
  if (!openTo(config).hasPage) return `switched off (web: false); health and metrics at ${listen}`;
  return `${pageAddress(config) ?? `http://${listen}/`}`;
}

const POLLS_TOLD = 5;

/** Its next polls: a cron expression is easily misread, and means here what it means for node-cron. */
function scheduleWords({ config: { usage, fleet }, zone }: Settings): Outcome {
  const { schedule, timezone, jitter_seconds: jitter } = usage;
  const weekday = new Intl.DateTimeFormat('en', { weekday: 'short', timeZone: timezone });
  const local = (at: number) => `${weekday.format(at)} ${zone.iso(at).slice(0, 16).replace('T', ' ')}`;
  const times = (nextTimes(schedule, timezone, POLLS_TOLD) ?? []).map(local).join(', ');
  const ofHousehold = jitter === 0 ? '' : `, each up to ${jitter} s later (usage.jitter_seconds)`;
  const later = fleet ? ', each account later by its own share of the time between two of them' : ofHousehold;
  const message = `${schedule} polls next at ${times} (${timezone})${later}`;
  const [dayOfMonth = '*', , dayOfWeek = '*'] = schedule.trim().split(/\s+/).slice(-3);
  return [dayOfMonth, dayOfWeek].some((field) => /^[*?]$/.test(field))
    ? { message }
    : { message, hint: BOTH_DAYS };
}

const BOTH_DAYS =
  'It names days of the month and days of the week: here a day must be both, where cron(8) is content with either.';

const PAGE = 'password of the page';

function sizeOf(name: string, text: string): string {
  if (name === 'fleet.key') return `${keysIn(text).length} of 32 bytes`;
  const isTotp = name.startsWith('totp_secret');
  const counted = isTotp ? (totpParameters(text)?.secret ?? '') : text;
  return `${[...counted].length} characters${isTotp ? ' of base32' : ''}`;
}

const FOR_OTHERS = 0o004;
/** The folder of a container's secrets, each readable by whatever user it runs as. */
const GIVEN_TO_A_CONTAINER = '/run/secrets/';

async function openness({ path, origin }: Secret, configuration: string | undefined): Promise<string> {
  const file = origin === 'inline' ? configuration : path;
  if (file === undefined || file.startsWith(GIVEN_TO_A_CONTAINER)) return '';
  const { mode } = await stat(file);
  const which = origin === 'inline' ? file : 'it';
  return mode & FOR_OTHERS ? `. Every user of this machine can read ${which}: chmod 600 ${file}` : '';
}

async function tryStateDirectory({ state_dir }: Config): Promise<string> {
  try {
    await makePrivateDirectory(state_dir);
    await tryRoom(state_dir);
    for (const name of await pathsBelow(state_dir))
      if (/^accounts(\/[^/]+)?$|\.json$/.test(name)) await refuseLinks(state_dir, name);
  } catch (err) {
    throw stateUnwritable(state_dir, err);
  }
  const unsafe = await directoryNotices(state_dir, process.getuid?.());
  return [state_dir, ...unsafe.map(({ message, hint }) => `${message} ${hint}`)].join('. ');
}

/** A ledger of three years has 50 KB, and is written beside the old one. */
const ROOM_BYTES = 65_536;

/** Rejects with the system's error where a document cannot be written, or finds no room. */
async function tryRoom(directory: string): Promise<void> {
  const file = join(directory, `check.json.${process.pid}`);
  try {
    await writeFile(file, Buffer.alloc(ROOM_BYTES), { mode: PRIVATE_FILE });
  } finally {
    await rm(file, { force: true });
  }
}

async function tryLive(settings: Settings, attempt: Attempt, io: Io): Promise<void> {
  const { config } = settings;
  const { constituencies, meters, mqtt, home_assistant } = config;
  const accounts = config.fleet ? [] : config.accounts;
  const byAccount: PropertiesByAccount = new Map();
  for (const account of accounts)
    await attempt(`provider for ${account.id}`, () => tryProvider(settings, account, byAccount, io));
  if (accounts.length > 0 && Object.keys(meters).length > 0)
    await attempt('meters', async () => namesWords(meters, byAccount, accounts.length));
  if (constituencies)
    await attempt('constituencies', async () => {
      const publicList = openPublicList(constituencies, io.clock);
      const answered = await publicList.read(publicList.readQuestion({}));
      return caveat(answered) ?? `${answered.list.constituencies?.length} in the configured list`;
    });
  if (mqtt.embedded === false) {
    const broker = brokerCheck(config, io.clock);
    await attempt('broker', broker.tryToWrite);
    if (broker.isReached()) await attempt('subscriptions', broker.tryToHear);
  }
  if (home_assistant)
    await attempt('Home Assistant', () => tryHomeAssistant(home_assistant, config.usage.timezone, io));
}

/** The properties of each account, in the order in which they were tried. */
type PropertiesByAccount = Map<string, readonly Property[]>;

const LOOK_BACK_DAYS = 14;

/** At most one login, and one usage query. */
async function tryProvider(settings: Settings, account: Account, byAccount: PropertiesByAccount, io: Io) {
  let signedIn = 'the stored session is good (the password was not tried)';
  const onLogin = () => {
    signedIn = 'signed in';
  };
  const upstream = openUpstreamBeside(settings, account, io, { onLogin });
  await upstream.askForLogin();
  const stored = (await upstream.context.read())?.properties ?? [];
  const properties = withFound(stored, (await upstream.provider.discover()).properties, []);
  if (upstream.session.lacksRefreshToken)
    signedIn += ' without a refresh token, though provider.offline_access is on: the issuer gave none';
  const meters = `${properties.length} heat meter(s): ${numbersOf(properties)}${duplicateWords(properties, byAccount)}`;
  const words = `${signedIn}, ${meters}`;
  byAccount.set(account.id, properties);
  const [property] = properties;
  if (!property) return words;
  const { zone } = settings;
  const closing = await findClosing({ ...settings, account, upstream }, property, io);
  const withDays = (days: number, of: number) =>
    `${words}, ${days} day(s) with readings in ${of}, ${closingWords(closing)}`;
  // The query for the hours is made of the same parts as the one for days.
  if (closing.days !== null) return withDays(closing.days, DAYS_LOOKED_AT);
  const today = zone.dayAt(io.clock.now());
  const { propertyCustomerId } = property;
  const span = { from: addDays(today, -LOOK_BACK_DAYS), to: addDays(today, 1) };
  const question = { propertyCustomerId, span, zone, readingCloses: closing.closes };
  const buckets = await upstream.provider.usage({ ...question, interval: 'day' });
  const times = buckets.flatMap(({ readAt }) => readAt ?? []);
  const isDoubtful = closing.from === 'state' && isContradicted(closing.closes, times, zone);
  const doubt = '; the newest readings contradict that: a backfill from the first day on decides it again';
  return `${withDays(buckets.length, LOOK_BACK_DAYS)}${isDoubtful ? doubt : ''}`;
}

const MOST_NUMBERS = 20;

function numbersOf(properties: readonly Property[]): string {
  const numbers = properties.flatMap((property) =>
    property.meterIdentifiers.length > 0 ? property.meterIdentifiers : [seriesName(property)],
  );
  return `${numbers.slice(0, MOST_NUMBERS).join(', ')}${numbers.length > MOST_NUMBERS ? ' and more' : ''}`;
}

function namesWords(names: Config['meters'], byAccount: PropertiesByAccount, accounts: number): string {
  if (byAccount.size < accounts) return 'not tried, because not every account could be read';
  const properties = [...byAccount.values()].flat();
  const namesThere = properties.flatMap((property) => [seriesName(property), ...property.meterIdentifiers]);
  const strays = strayNames(names, new Set(namesThere));
  if (strays.length === 0) return 'every name is that of a meter';
  return `no account has ${strays.join(', ')}, named in meters; there is ${numbersOf(properties)}`;
}

/** About properties that an account before has too. */
function duplicateWords(properties: readonly Property[], byAccount: PropertiesByAccount): string {
  const ids = new Set(properties.map(({ propertyCustomerId }) => propertyCustomerId));
  const isShared = ({ propertyCustomerId }: Property) => ids.has(propertyCustomerId);
  const others = [...byAccount].filter(([, theirs]) => theirs.some(isShared)).map(([id]) => id);
  if (others.length === 0) return '';
  return ` (also of the account ${others.join(' and ')}: a meter is read once, by one of them)`;
}

async function tryHomeAssistant(
  { url, token, outdoor_temperature: sensor }: NonNullable<Config['home_assistant']>,
  ours: string,
  { clock }: Io,
): Promise<string> {
  return visitHomeAssistant({ url, token: await token.read() }, clock, async (home, timezone) => {
    if (sensor !== undefined) await checkTemperature(home, sensor);
    const isSame = timezone === null || isSameZone(timezone, ours);
    const caution = '; its time zone is not usage.timezone: days may begin at another hour there';
    const temperatures = sensor === undefined ? '' : ', outdoor temperatures can be read';
    return `version ${home.version}, statistics can be written${temperatures}${isSame ? '' : caution}`;
  });
}

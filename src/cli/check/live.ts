// The part of heat2mqtt check that asks others: the provider for each account, the public list, the broker and Home Assistant.
import { siteReasons } from '../../accounts/extras.ts';
import { strayNames } from '../../accounts/names.ts';
import type { Upstream } from '../../accounts/upstream.ts';
import { LoginRefused } from '../../auth/refusals.ts';
import type { Account, Config } from '../../config/schema.ts';
import { openPublicList } from '../../constituencies/publicList.ts';
import { caveat } from '../../domain/constituency.ts';
import { addDays, isSameZone } from '../../domain/period.ts';
import { type Property, seriesName, withFound } from '../../domain/reading.ts';
import { DAYS_LOOKED_AT, isContradicted } from '../../domain/readingCloses.ts';
import type { Clock } from '../../foundation/clock.ts';
import { failure } from '../../foundation/failure.ts';
import { visitHomeAssistant } from '../../homeassistant/commands.ts';
import { checkTemperature } from '../../homeassistant/recorder.ts';
import { closingWords, findClosing, type Opened, openUpstreamBeside } from '../account.ts';
import type { Io } from '../command.ts';
import type { Settings } from '../settings.ts';
import { brokerChecks } from './broker.ts';
import type { Check } from './outcome.ts';

/** The properties of each account that could be read, in the order in which they were tried. */
type PropertiesByAccount = Map<string, readonly Property[]>;

export function* liveChecks(settings: Settings, io: Io): Generator<Check> {
  const { config } = settings;
  const { constituencies, meters, mqtt, home_assistant } = config;
  const accounts = config.fleet ? [] : config.accounts;
  const byAccount: PropertiesByAccount = new Map();
  for (const account of accounts)
    yield { name: `provider for ${account.id}`, run: () => tryProvider(settings, account, byAccount, io) };
  if (accounts.length > 0 && Object.keys(meters).length > 0)
    yield { name: 'meters', run: async () => namesWords(meters, byAccount, accounts.length) };
  if (constituencies)
    yield {
      name: 'constituencies',
      async run() {
        const publicList = openPublicList(constituencies, io.clock);
        const answered = await publicList.read(publicList.readQuestion({}));
        return caveat(answered) ?? `${answered.list.constituencies?.length} in the configured list`;
      },
    };
  if (mqtt.embedded === false) yield* brokerChecks(config, io.clock);
  if (home_assistant)
    yield {
      name: 'Home Assistant',
      run: () => tryHomeAssistant(home_assistant, config.usage.timezone, io.clock),
    };
}

const LOOK_BACK_DAYS = 14;

/** It makes at most one login and one usage query. */
async function tryProvider(
  settings: Settings,
  account: Account,
  byAccount: PropertiesByAccount,
  io: Io,
): Promise<string> {
  let signedIn = 'the stored session is good (the password was not tried)';
  const onLogin = () => {
    signedIn = 'signed in';
  };
  const upstream = openUpstreamBeside(settings, io, account, { onLogin });
  const { provider, session } = upstream;
  await upstream.askForLogin();
  const stored = (await upstream.listed.read())?.properties ?? [];
  const discovered = await provider.discover().catch(async (err) => {
    throw await withNextLogin(err, upstream);
  });
  const properties = withFound(stored, discovered.properties, []);
  if (session.lacksRefreshToken)
    signedIn += ' without a refresh token, though provider.offline_access is on: the issuer gave none';
  const duplicates = duplicateWords(properties, byAccount);
  byAccount.set(account.id, properties);
  const site = settings.config.extras.site ? await provider.site?.().catch(() => null) : null;
  const cautions = siteReasons(settings.config, site ?? null).map(({ message }) => `; ${message}`);
  const [property] = properties;
  const readings = property ? await readingWords({ ...settings, account, upstream }, property, io) : '';
  const meters = `${properties.length} heat meter(s): ${numbersOf(properties)}${duplicates}`;
  return `${signedIn}, ${meters}${readings}${cautions.join('')}`;
}

/** A password that was refused is not tried again at once: its failure says when. */
async function withNextLogin(err: unknown, { login }: Upstream): Promise<unknown> {
  if (!(err instanceof LoginRefused) || err.about !== 'password') return err;
  const { code, message, hint, retry, exitCode: exit } = err;
  const suspension = await login.suspendedBy();
  const next = suspension === null ? [] : login.suspended(suspension).message;
  return failure(code, message, { exit, retry, hint: [hint ?? [], next].flat().join(' ') });
}

/** How many of the newest days have readings, and which days these close. */
async function readingWords(opened: Opened, property: Property, io: Io): Promise<string> {
  const { zone, upstream } = opened;
  const closing = await findClosing(opened, property, io);
  const withDays = (days: number, of: number) =>
    `, ${days} day(s) with readings in ${of}, ${closingWords(closing)}`;
  // The query for the hours is made of the same parts as the one for days.
  if (closing.days !== null) return withDays(closing.days, DAYS_LOOKED_AT);
  const to = addDays(zone.dayAt(io.clock.now()), 1);
  const buckets = await upstream.provider.usage({
    propertyCustomerId: property.propertyCustomerId,
    span: { from: addDays(to, -LOOK_BACK_DAYS - 1), to },
    zone,
    readingCloses: closing.closes,
    interval: 'day',
  });
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

/** Other accounts that have these properties are named. */
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
  clock: Clock,
): Promise<string> {
  return visitHomeAssistant({ url, token: await token.read() }, clock, async (home, timezone) => {
    if (sensor !== undefined) await checkTemperature(home, sensor);
    const isSame = timezone === null || isSameZone(timezone, ours);
    const caution = '; its time zone is not usage.timezone: days may begin at another hour there';
    const temperatures = sensor === undefined ? '' : ', outdoor temperatures can be read';
    return `version ${home.version}, statistics can be written${temperatures}${isSame ? '' : caution}`;
  });
}

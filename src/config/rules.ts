// The mistakes that one key alone does not show: they take several keys, the clock, or a parser of cron expressions.
import { isClockSet } from '../foundation/clock.ts';
import type { Draft } from './draft.ts';
import { type Path, variableOf } from './keys.ts';
import { isLoopback } from './listenAddress.ts';
import { WITH_PASSWORD } from './schema.ts';
import { accountsIn, isMapping } from './source.ts';
import { cronExpression, parseUrl, timeZone } from './values.ts';

/** The next times of a cron expression, `count` of them; `null`: it is none, and `[]`: no time of it ever comes. */
export type NextTimes = (expression: string, timezone: string, count: number) => readonly number[] | null;

const NEEDS_REDIRECT_URI = `with sign_in form or link, an address registered for client_id (here or in HEAT2MQTT_PROVIDER_REDIRECT_URI); to find it, sign in on the provider's own page in a browser: the address bar of its login page carries redirect_uri=…; write : and / where it has %3A and %2F`;
const CERTIFICATE_AND_KEY = 'cert_file and key_file together, or neither';
const NAME_AND_PASSWORD = 'a name and a password, or neither';
const EXAMPLE = '`heat2mqtt config example` prints a file to begin with';
const BEGIN =
  '`heat2mqtt setup` asks a few questions and writes the file, `heat2mqtt demo` shows everything with invented readings, `heat2mqtt config example` prints a file to fill in';
const SHORTEST_GAP_MINUTES = 15;
const TOO_FAST = `at least ${SHORTEST_GAP_MINUTES} minutes between two polls, or usage.allow_fast_schedule: true; the provider has something new once a day`;
const MINUTE_MS = 60_000;
// A schedule that asks too often has two of these too close to one another.
const TIMES_LOOKED_AT = 200;

/** Notes each mistake in the draft. `lookedIn`: a configuration file was looked for in these places; empty when there is one. */
export function checkRules(
  draft: Draft,
  now: number,
  nextTimes: NextTimes,
  lookedIn: readonly string[],
): void {
  checkProvider(draft);
  checkBroker(draft);
  checkPage(draft);
  checkAccountIds(draft);
  checkSecrets(draft);
  checkSections(draft, lookedIn);
  checkFleet(draft);
  checkWitnesses(draft);
  const zone = timeZone.safeParse(draft.at('usage.timezone')).data ?? 'Europe/Dublin';
  checkSchedule(draft, zone, nextTimes);
  checkHistory(draft, zone, now);
}

// Any value may be of a wrong type: the schema tells that.

const isOn = (draft: Draft, path: string): boolean => (draft.at(path) ?? false) !== false;

const signInOf = (draft: Draft): string => draft.textAt('provider.sign_in') ?? 'auto';

function checkProvider(draft: Draft): void {
  for (const path of ['provider.issuer', 'provider.api_url'])
    if (!isOn(draft, 'provider.allow_insecure') && isUnencrypted(draft.textAt(path)))
      draft.refuse(path, 'https://, or http:// to this machine, or provider.allow_insecure: true');
  if (['form', 'link'].includes(signInOf(draft))) draft.need('provider.redirect_uri', NEEDS_REDIRECT_URI);
}

function checkBroker(draft: Draft): void {
  for (const section of ['mqtt', 'mqtt.embedded'])
    if (draft.isGiven(`${section}.password`) || draft.isGiven(`${section}.password_file`))
      draft.need(`${section}.username`, NAME_AND_PASSWORD, 'nothing, but a password');
  // Some brokers want a name alone; ours would let in everyone who knows it.
  if (draft.isGiven('mqtt.embedded.username'))
    draft.need('mqtt.embedded.password', NAME_AND_PASSWORD, 'nothing, but a name');
  if (draft.isGiven('mqtt.cert_file')) draft.need('mqtt.key_file', CERTIFICATE_AND_KEY);
  if (draft.isGiven('mqtt.key_file')) draft.need('mqtt.cert_file', CERTIFICATE_AND_KEY);
}

function checkPage(draft: Draft): void {
  // Every visitor behind the proxy would count as local.
  if (!draft.isGiven('web.trusted_proxy') || draft.isGiven('web.password')) return;
  const mistake = 'a reverse proxy and no password of the page';
  draft.refuse('web.trusted_proxy', 'a reverse proxy only with web.password or web.password_file', mistake);
}

function checkAccountIds(draft: Draft): void {
  const accounts = accountsIn(draft);
  const ids = accounts.map((account) => draft.at(`${account}.id`));
  for (const [index, account] of accounts.entries()) {
    const id = ids[index];
    const first = ids.indexOf(id);
    const isMissing = id === undefined && ids.length > 1 && isMapping(draft.at(account));
    if (first === index && !isMissing) continue;
    const repeatedId = id === undefined ? undefined : `the id of accounts.${first} again`;
    draft.refuse(`${account}.id`, 'with several accounts, a different id for each', repeatedId);
  }
}

function checkSecrets(draft: Draft): void {
  const accounts = accountsIn(draft);
  const needed = ['home_assistant.token', 'fleet.database_url', 'fleet.key'];
  // A mistyped way of signing in is one mistake, and may have been one without a password.
  if (WITH_PASSWORD.some((way) => way === signInOf(draft)))
    needed.push(...accounts.map((account) => `${account}.password`));
  for (const key of needed) {
    const path = key.split('.');
    const isOfSingleAccount = accounts.length === 1 && path[0] === 'accounts';
    const shortPath = isOfSingleAccount ? path.slice(-1) : path;
    if (isMapping(draft.at(path.slice(0, -1)))) draft.need(path, waysToGive(shortPath));
  }
}

function checkSections(draft: Draft, lookedIn: readonly string[]): void {
  const hasAccounts = accountsIn(draft).length > 0 || draft.isGiven('fleet');
  if (hasAccounts) draft.need('provider', 'with accounts: issuer, api_url and client_id of their provider');
  const isList = Array.isArray(draft.at('accounts') ?? []);
  if (hasAccounts || !isList || draft.isGiven('constituencies')) return;
  const hasFile = lookedIn.length === 0;
  const noFile = hasFile ? '' : `, and no configuration file (${lookedIn.join(', ')})`;
  const allowed = `at least one of the two sections; ${hasFile ? EXAMPLE : BEGIN}`;
  draft.refuse('accounts', allowed, `neither accounts nor constituencies${noFile}`);
}

/** A fleet has no settings of one household or one process. */
function checkFleet(draft: Draft): void {
  if (!draft.isGiven('fleet')) return;
  for (const path of ['home_assistant', 'mqtt.embedded'])
    if (isOn(draft, path)) draft.refuse(path, 'false, or nothing, with fleet');
  if (['device', 'link'].includes(signInOf(draft)))
    draft.refuse('provider.sign_in', 'auto, password or form with fleet: no person signs in there');
}

function checkWitnesses(draft: Draft): void {
  const hasFleet = draft.isGiven('fleet');
  const base = draft.textAt('mqtt.base_topic') ?? 'heat2mqtt';
  for (const meter of Object.keys(Object(draft.at('meters')))) {
    const path = ['meters', meter, 'witness'];
    if (!draft.isGiven(path)) continue;
    if (hasFleet) draft.refuse(path, 'nothing, with fleet: one process of a household hears it');
    const topic = draft.textAt([...path, 'topic']) ?? '';
    if (`${topic}/`.startsWith(`${base}/`))
      draft.refuse(
        [...path, 'topic'],
        `a topic of something else, not below mqtt.base_topic (${base})`,
        topic,
      );
  }
}

function checkSchedule(draft: Draft, zone: string, nextTimes: NextTimes): void {
  const { data: cron } = cronExpression.safeParse(draft.at('usage.schedule'));
  if (cron === undefined) return;
  const refuse = (allowed: string, found?: string) => draft.refuse('usage.schedule', allowed, found);
  const times = nextTimes(cron, zone, TIMES_LOOKED_AT);
  // A switch of a wrong type is told by itself.
  const mayBeFast = isOn(draft, 'usage.allow_fast_schedule');
  if (times === null) refuse('a cron expression of 5 or 6 fields, each in its range');
  else if (times.length === 0)
    refuse(`a cron expression whose days and hours exist in ${zone}`, `${cron}, which never comes`);
  else if (!mayBeFast && shortestGapMs(times) < SHORTEST_GAP_MINUTES * MINUTE_MS) refuse(TOO_FAST);
}

function checkHistory(draft: Draft, zone: string, now: number): void {
  // Every day lies in the future of a clock that is not set.
  if (!isClockSet(now)) return;
  const today = new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' }).format(now);
  // Some boards start with the time of their last stop, months behind. The day may be right then, and the daemon waits for the clock.
  for (const section of ['usage', ...accountsIn(draft)])
    if ((draft.textAt(`${section}.history_since`) ?? '') > today)
      draft.warnings.push(
        `${section}.history_since lies in the future: this machine has ${today}. Nothing is read until that day. If it is a mistake, put it right; if the clock is wrong, check its time service (NTP).`,
      );
}

/** A hint names all ways to give a secret. `short`: its path, or its name if there is a single account. */
function waysToGive(short: Path): string {
  const [name, variable] = [short.at(-1), variableOf(short)];
  const without = name === 'password' ? '; none with provider.sign_in device or link' : '';
  return `${name} or ${name}_file here, ${variable} or ${variable}_FILE in the environment, or a file "${short.join('_')}" in $CREDENTIALS_DIRECTORY${without}`;
}

function isUnencrypted(address = ''): boolean {
  const { hostname } = parseUrl(address, ['http:']) ?? {};
  // Names below localhost lead nowhere else for those who only send there.
  return hostname !== undefined && !isLoopback(hostname) && !hostname.endsWith('.localhost');
}

/** The shortest time from one of them to the next. */
function shortestGapMs(times: readonly number[]): number {
  return Math.min(...times.slice(1).map((time, at) => time - (times[at] ?? 0)));
}

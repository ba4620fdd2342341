// The part of heat2mqtt check that looks at this machine, and asks nobody beyond it: files, secrets, ports, the state directory.
import { stat } from 'node:fs/promises';
import { openTo, pageAddress, weaknessOf, whyNoPage } from '../../config/pageAddress.ts';
import type { Config, Embedded } from '../../config/schema.ts';
import { keysIn, type Secret, totpParameters } from '../../config/secret.ts';
import { nextTimes } from '../../engine/schedule.ts';
import { readAuthorities } from '../../foundation/authorities.ts';
import type { Clock } from '../../foundation/clock.ts';
import { proxyNotice } from '../../http/proxy.ts';
import { startEmbedded } from '../../mqtt/broker.ts';
import { directoryNotices } from '../../store/directoryNotices.ts';
import { makePrivateDirectory, pathsBelow, refuseLinks } from '../../store/privateFiles.ts';
import { stateUnwritable } from '../../store/stateDirectory.ts';
import { openServer } from '../../web/server.ts';
import type { Io } from '../command.ts';
import { askHealth, lookAtFleet } from '../healthcheck.ts';
import { type Settings, secretsOf } from '../settings.ts';
import { tryRoom } from '../writing.ts';
import type { Check, Outcome } from './outcome.ts';
import { witnessChecks } from './witness.ts';

export async function* machineChecks(settings: Settings, { clock, env }: Io): AsyncGenerator<Check> {
  const { config, path } = settings;
  const { fleet, http, mqtt, provider } = config;
  const authorities = {
    'provider.ca_file': provider?.ca_file,
    'mqtt.ca_file': mqtt.reject_unauthorized && mqtt.ca_file,
  };
  for (const [name, file] of Object.entries(authorities))
    if (file) yield { name, run: () => tryAuthorities(name, file, clock) };
  for (const [name, secret] of secretsOf(config)) yield { name, run: () => trySecret(name, secret, path) };
  // Without an account nothing is polled.
  if (fleet || config.accounts.length > 0)
    yield { name: 'schedule', run: async () => scheduleOutcome(settings) };
  const ownBroker = !fleet && mqtt.embedded;
  const { answersOn } = http || ownBroker ? await askHealth(config, clock) : { answersOn: null };
  if (http) yield { name: 'page', run: () => tryPage(config, http.listen, answersOn === 'http', clock) };
  if (ownBroker)
    yield { name: 'own broker', run: () => tryOwnBroker(mqtt, ownBroker, answersOn !== null, clock) };
  if (fleet)
    yield {
      name: 'database of the fleet',
      async run() {
        const { accounts, processes } = (await lookAtFleet(fleet, settings)).health.fleet;
        return `${accounts} account(s), ${processes.length} process(es) at work`;
      },
    };
  else {
    yield { name: 'state directory', run: () => tryStateDirectory(config) };
    yield* witnessChecks(settings, clock);
  }
  const proxy = proxyNotice([provider?.issuer, provider?.api_url, config.constituencies?.base_url], env);
  if (proxy) yield { name: 'proxy', run: async () => proxy };
}

/** An authority that has lapsed is a fault of every certificate below it, and looks like theirs. */
async function tryAuthorities(key: string, file: string, clock: Clock): Promise<Outcome> {
  const { certificates } = await readAuthorities(key, file);
  const lapsed = certificates.filter(({ validTo }) => Date.parse(validTo) < clock.now()).length;
  return {
    message: `${certificates.length} certificate(s), file ${file}`,
    hint: lapsed > 0 ? `Expired: ${lapsed} of them. Ask the authority for its present one.` : null,
  };
}

const PAGE = 'password of the page';

async function trySecret(name: string, secret: Secret, configuration: string | undefined): Promise<Outcome> {
  const text = await secret.read();
  return {
    message: `${sizeOf(name, text)}, ${secret.origin}${await openness(secret, configuration)}`,
    // The password of an account is somebody else's rule.
    hint: (await secret.caution()) ?? (name === PAGE ? weaknessOf(text) : null),
  };
}

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

const POLLS_TOLD = 5;
const BOTH_DAYS =
  'It names days of the month and days of the week: here a day must be both, where cron(8) is content with either.';

/** Its next polls: a cron expression is easily misread, and means here what it means for node-cron. */
function scheduleOutcome({ config: { usage, fleet }, zone }: Settings): Outcome {
  const { schedule, timezone, jitter_seconds: jitter } = usage;
  const weekday = new Intl.DateTimeFormat('en', { weekday: 'short', timeZone: timezone });
  const local = (at: number) => `${weekday.format(at)} ${zone.iso(at).slice(0, 16).replace('T', ' ')}`;
  const times = (nextTimes(schedule, timezone, POLLS_TOLD) ?? []).map(local).join(', ');
  const ofHousehold = jitter === 0 ? '' : `, each up to ${jitter} s later (usage.jitter_seconds)`;
  const later = fleet ? ', each account later by its own share of the time between two of them' : ofHousehold;
  const [dayOfMonth = '*', , dayOfWeek = '*'] = schedule.trim().split(/\s+/).slice(-3);
  const isEveryDay = [dayOfMonth, dayOfWeek].some((field) => /^[*?]$/.test(field));
  return {
    message: `${schedule} polls next at ${times} (${timezone})${later}`,
    hint: isEveryDay ? null : BOTH_DAYS,
  };
}

/** The port has to be free, or taken by heat2mqtt itself. The outcome says who is shown a page there. */
async function tryPage(
  config: Config,
  listen: string,
  isServed: boolean,
  clock: Clock,
): Promise<string | Outcome> {
  // The listener there is the daemon that runs.
  if (!isServed)
    await openServer(listen, (_, response) => response.end(), { clock }).then((opened) => opened.stop());
  const refused = config.fleet ? null : whyNoPage(config);
  if (refused !== null) return refused;
  const place = config.fleet ? 'health and metrics' : placeOfPage(config, listen);
  return isServed ? `${place}, served by the daemon that runs` : place;
}

function placeOfPage(config: Config, listen: string): string {
  if (!openTo(config).hasPage) return `switched off (web: false); health and metrics at ${listen}`;
  return pageAddress(config) ?? `http://${listen}/`;
}

/** The port has to be free, unless the daemon beside which this runs may have it. */
async function tryOwnBroker(
  mqtt: Config['mqtt'],
  { host, port }: Embedded,
  isBesideDaemon: boolean,
  clock: Clock,
): Promise<string> {
  const place = `${host}:${port}`;
  if (isBesideDaemon) return `${place}, with the daemon that runs`;
  const broker = await startEmbedded(mqtt, { clock });
  await broker?.stop();
  return place;
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

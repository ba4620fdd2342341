// heat2mqtt setup: asks a person for provider, login, broker and Home Assistant, tries each answer at once, writes the
// configuration and the files of its passwords, and offers what comes next.
import { randomBytes } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { access, constants, readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { LoginSuspended } from '../auth/login.ts';
import { ConfigInvalid } from '../config/draft.ts';
import { KNOWN_PROVIDERS, UNTRIED } from '../config/providers.ts';
import { commentedConfig } from '../config/yamlText.ts';
import { EXIT, Failure } from '../foundation/failure.ts';
import { visitHomeAssistant } from '../homeassistant/commands.ts';
import { openBroker } from '../mqtt/broker.ts';
import { makePrivateDirectory, replace } from '../store/privateFiles.ts';
import { openUpstreamBeside, pickAccount } from './account.ts';
import { check } from './check.ts';
import { adviceOf, type Command, type Io, refusal, typedAs, wrongUsage } from './command.ts';
import { signInWith } from './login.ts';
import { run } from './run.ts';
import { openSettings, type Settings } from './settings.ts';

/** Keys of one section of the configuration. What is undefined is left out. */
type Section = Record<string, unknown>;

/** Those that are given. A refused one stays, as the default of the next try. */
interface Answers extends Record<'provider' | 'account', Section> {
  mqtt?: Section;
  usage?: Section;
  home_assistant?: Section;
  /** Undefined where what runs this names one in the environment. */
  readonly state_dir: string | undefined;
}

const OWN_BROKER = { port: 1883, host: '127.0.0.1' };

interface Interview {
  readonly io: Io;
  /** Where the configuration is. */
  readonly path: string;
  readonly folder: string;
  /** What was typed for a secret, by the path of its file in the configuration. Nothing is written before the last answer. */
  readonly typed: Map<string, string>;
  readonly answers: Answers;
  /** No answer was kept that did not work. */
  isTried: boolean;
}

export const setup: Command = async (given, io) => {
  if (!io.isInteractive)
    throw wrongUsage('setup asks questions and needs a terminal. `config example` prints a file to fill in.');
  const path = typeof given.options.config === 'string' ? given.options.config : 'config.yaml';
  if (existsSync(path))
    throw wrongUsage(`${path} is there already, and is not touched: --config PATH writes another one.`);
  const folder = dirname(resolve(path));
  await access(folder, constants.W_OK).catch((err) => {
    throw wrongUsage(`${path} cannot be written there (${err.code}).`);
  });
  io.out(
    `This writes ${path}. Each answer is tried at once; Enter takes what is in brackets, Ctrl-C ends it.\n\n`,
  );
  // The systemd unit may not write below /etc, and has its state elsewhere.
  const usualDir = resolve(path).startsWith('/etc/') ? '/var/lib/heat2mqtt' : './state';
  const state_dir = io.env.STATE_DIRECTORY ? undefined : usualDir;
  // Otherwise a directory of this name in the working directory would be taken.
  if (state_dir !== undefined) await makePrivateDirectory(resolve(folder, state_dir)).catch(() => undefined);
  const answers = { provider: {}, account: {}, state_dir };
  const interview = { io, path, folder, typed: new Map(), answers, isTried: true };
  await askProvider(interview);
  await askTimeZone(interview);
  await askLogin(interview);
  await askBroker(interview);
  await askHomeAssistant(interview);
  await write(interview);
  return offerNext(interview);
};

/**
 * Asks until the answer is good, or the person keeps it all the same. What is no configuration cannot be kept. `ask` is given the
 * fault of its answer before; `attempt` resolves to what it has found.
 */
async function untilGood(
  interview: Interview,
  ask: (fault: Failure | null) => Promise<void>,
  attempt: (settings: Settings) => Promise<string | null> = async () => null,
): Promise<void> {
  const { io } = interview;
  for (let before: Failure | null = null; ; ) {
    await ask(before);
    try {
      const found = await attempt(await settingsFrom(interview));
      if (found !== null) io.out(`ok: ${found}\n\n`);
      return;
    } catch (fault) {
      if (!(fault instanceof Failure) || io.interrupted.aborted) throw fault;
      const isUnusable = fault instanceof ConfigInvalid;
      io.out(`${fault.message}\n${isUnusable ? '' : `${adviceFor(fault)}\n`}`);
      if (!isUnusable && (await isYes(io, 'Keep this all the same?'))) {
        interview.isTried = false;
        return;
      }
      before = fault;
    }
  }
}

/** Its hint, as long as no daemon runs of which a poll could be requested. */
function adviceFor(fault: Failure): string {
  if (fault instanceof LoginSuspended)
    return 'Correct the user name or the password, or keep this and try heat2mqtt check --live later.';
  return adviceOf(fault, 'try again here') ?? '';
}

function settingsFrom({ io, path, folder, typed, answers }: Interview): Promise<Settings> {
  const files = new Map([[path, textFrom(answers)]]);
  for (const [file, secret] of typed) files.set(resolve(folder, file), secret);
  return openSettings({ path, readFile: async (file) => files.get(file) ?? readFile(file) }, io);
}

/** What is not answered yet has something in its place, so that each answer can be tried alone. */
function textFrom({ provider, account, mqtt, usage, home_assistant, state_dir }: Answers): string {
  const sections = {
    version: 1,
    provider: {
      ...{ issuer: 'https://x.invalid', api_url: 'https://x.invalid', client_id: 'x' },
      ...provider,
      sign_in: account.password_file === undefined ? 'device' : undefined,
    },
    accounts: [{ username: 'x', ...account }],
    mqtt: mqtt ?? { embedded: OWN_BROKER },
    usage: { schedule: '23 */4 * * *', ...usage },
    home_assistant,
    state_dir,
  };
  return `# The configuration of heat2mqtt, written by \`heat2mqtt setup\`. Every other key, with its default:
# docs/configuration.md, or \`heat2mqtt config example\`. To try what you change: \`heat2mqtt check --live\`
${commentedConfig(sections)}`;
}

async function askProvider(interview: Interview): Promise<void> {
  const { io, answers } = interview;
  const own = KNOWN_PROVIDERS.length + 1;
  io.out('Who is your provider?\n');
  for (const [at, { name, source }] of KNOWN_PROVIDERS.entries())
    io.out(`  ${at + 1}  ${name}\n     ${UNTRIED}: ${source}\n`);
  io.out(`  ${own}  another one: its portal shows the addresses, as examples/yuno-energy.yaml explains\n`);
  let isOwn = false;
  const askIssuer = async (fault: Failure | null) => {
    if (await takesAuthority(interview, answers.provider, fault, 'issuer_not_trusted')) return;
    const preset =
      KNOWN_PROVIDERS[(await number(io, 'Provider', own, answers.provider.issuer ? own : undefined)) - 1];
    isOwn = preset === undefined;
    if (preset) Object.assign(answers, { provider: { ...preset.provider }, usage: preset.usage });
    else await askKey(io, answers.provider, 'issuer', 'Issuer, up to the name after /realms/');
  };
  await untilGood(interview, askIssuer, async (settings) => {
    await openUpstreamBeside(settings, pickAccount(settings), io).issuer.offersDevice();
    return 'the issuer answers';
  });
  const { provider } = answers;
  const askApi = async (fault: Failure | null) => {
    if (await takesAuthority(interview, provider, fault, 'provider_not_trusted')) return;
    // What a preset has is asked for only when it turns out wrong.
    if (isOwn || fault) await askKey(io, provider, 'api_url', 'API, up to what stands before /reports/usage');
  };
  await untilGood(interview, askApi, async (settings) => {
    await openUpstreamBeside(settings, pickAccount(settings), io).reachApi();
    return 'the API answers';
  });
  if (!isOwn) return;
  await untilGood(interview, async () => {
    await askKey(io, provider, 'client_id', 'Client id');
    const scopes = [provider.scopes ?? ['openid', 'service-energy']].flat().join(' ');
    provider.scopes = (await line(io, 'Scopes', scopes)).split(/[\s,]+/);
    const question = 'Redirect address (redirect_uri of its login page), if you know it';
    await askKey(io, provider, 'redirect_uri', question, '');
  });
}

/**
 * Asks for the certificate of an authority where that of the other side was not trusted, and again where the file was refused: one
 * that holds none ends the connection without a word about trust. Resolves to whether one was named.
 */
async function takesAuthority(
  { io, folder }: Interview,
  section: Section,
  fault: Failure | null,
  distrust: string,
): Promise<boolean> {
  if (fault?.code !== distrust && (fault === null || section.ca_file === undefined)) return false;
  const file = await line(io, "File with the authority's certificate (Enter for none)", '');
  section.ca_file = file === '' ? undefined : fromFolder(folder, file);
  return file !== '';
}

/** Offers that of the provider, else that of the machine. */
async function askTimeZone(interview: Interview): Promise<void> {
  const { io, answers } = interview;
  const usual = answers.usage?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  await untilGood(interview, async () => {
    const question = 'Time zone of the flat; its days and months are cut there';
    answers.usage = { timezone: await line(io, question, String(usual)) };
  });
}

async function askLogin(interview: Interview): Promise<void> {
  const { io, answers } = interview;
  const ask = async (fault: Failure | null) => {
    if (fault !== null && (await isYes(io, 'Are the addresses wrong?'))) await askProvider(interview);
    await askKey(io, answers.account, 'username', "User name on the provider's page");
    await askSecret(interview, answers.account, 'password_file', {
      file: './heat-password',
      what: 'Password on that page',
      otherwise: 'you sign in on another device',
    });
  };
  await untilGood(interview, ask, async (settings) => {
    const { provider } = await signInWith(settings, io);
    const { properties } = await provider.discover();
    const meters = properties.flatMap(({ meterIdentifiers }) => meterIdentifiers);
    return `signed in; heat meters: ${meters.join(', ') || properties.length}`;
  });
}

async function askBroker(interview: Interview): Promise<void> {
  const { io, answers } = interview;
  const ask = async (fault: Failure | null) => {
    answers.mqtt ??= {};
    if (await takesAuthority(interview, answers.mqtt, fault, 'broker_not_trusted')) return;
    const { url = 'mqtt://localhost:1883', username, password_file, embedded } = answers.mqtt;
    const question = 'MQTT broker, such as 192.168.1.5 ("none": heat2mqtt brings its own)';
    const typed = await line(io, question, embedded ? 'none' : String(url));
    if (typed === 'none') {
      answers.mqtt = { embedded: await askOwnBroker(interview, Object(embedded)) };
      return;
    }
    const scheme = typed.endsWith(':8883') ? 'mqtts' : 'mqtt';
    const mqtt: Section = { url: typed.includes('://') ? typed : `${scheme}://${typed}`, username };
    answers.mqtt = mqtt;
    await askKey(io, mqtt, 'username', 'User name at the broker, if it wants one', '');
    if (mqtt.username === undefined) return;
    mqtt.password_file = password_file;
    const words = { what: 'Password at the broker', otherwise: 'none' };
    await askSecret(interview, mqtt, 'password_file', { file: './mqtt-password', ...words });
  };
  await untilGood(interview, ask, async ({ config: { mqtt } }) => {
    if (mqtt.embedded) {
      const { port, username } = mqtt.embedded;
      const reach = username
        ? `Every machine reaches it as ${username}, with the password.`
        : 'Only this machine reaches it.';
      return `heat2mqtt brings its own broker, on port ${port}. ${reach}`;
    }
    const connection = await openBroker(mqtt, 'setup', io.clock);
    await connection.close(1_000);
    return 'the broker answers';
  });
}

async function askOwnBroker(interview: Interview, before: Section): Promise<Section> {
  const { io } = interview;
  const question = 'Shall other machines reach it, such as that of Home Assistant?';
  if (!(await isYes(io, question))) return OWN_BROKER;
  const { username, password_file } = before;
  const section: Section = { ...OWN_BROKER, host: '0.0.0.0', username, password_file };
  await askKey(io, section, 'username', 'User name that they log in with', 'home');
  const file = './mqtt-password';
  const words = { what: 'Password for them', otherwise: 'one is made up, and written into its file' };
  await askSecret(interview, section, 'password_file', { file, ...words });
  section.password_file ??= keep(interview, file, randomBytes(15).toString('base64url'));
  return section;
}

async function askHomeAssistant(interview: Interview): Promise<void> {
  const { io, answers } = interview;
  const ask = async () => {
    const { url: before = 'none', ...rest } = answers.home_assistant ?? {};
    delete answers.home_assistant;
    const question = 'Home Assistant, to write each day on its own date: its address, or "none"';
    const typed = await line(io, question, String(before));
    if (typed === 'none') return;
    const port = /:\d+$/.test(typed) ? '' : ':8123';
    const section: Section = { url: typed.includes('://') ? typed : `http://${typed}${port}`, ...rest };
    await askSecret(interview, section, 'token_file', {
      file: './ha-token',
      what: 'Its access token (your profile there, Security, Long-lived access tokens)',
      otherwise: 'none, and Home Assistant is left out',
    });
    if (section.token_file) answers.home_assistant = section;
  };
  await untilGood(interview, ask, async ({ config: { home_assistant } }) => {
    if (!home_assistant) return null;
    const address = { url: home_assistant.url, token: await home_assistant.token.read() };
    const visit = visitHomeAssistant(address, io.clock, async ({ version }) => version, io.interrupted);
    return `Home Assistant ${await visit} answers`;
  });
}

/** Offers the answer of before, else `usual`; where that is empty, none is an answer too. */
async function askKey(io: Io, section: Section, key: string, question: string, usual?: string) {
  section[key] = (await line(io, question, String(section[key] ?? usual ?? '') || usual)) || undefined;
}

/** The key names the file afterwards, or nothing: Enter alone where there is none yet. */
async function askSecret(
  interview: Interview,
  section: Section,
  key: string,
  { file, what, otherwise }: Readonly<Record<'file' | 'what' | 'otherwise', string>>,
): Promise<void> {
  const { io, folder, typed } = interview;
  const isThere = (await readFile(resolve(folder, file), 'utf8').catch(() => '')) !== '';
  section[key] ??= isThere ? file : undefined;
  const kept = section[key];
  const where = typed.has(String(kept)) ? 'the one before' : `the one in ${kept}`;
  const enter = kept === undefined ? otherwise : where;
  const secret = await answerTo(`${what} (not shown; Enter alone: ${enter}): `, io, true);
  if (secret !== '') section[key] = keep(interview, file, secret);
}

/** Resolves to the path of its file in the configuration. A file that is there already stays as it is. */
function keep({ folder, typed }: Interview, file: string, secret: string): string {
  const isTaken = (path: string) => existsSync(resolve(folder, path)) || existsSync(path);
  let path = file;
  for (let n = 2; isTaken(path); n += 1) path = `${file}-${n}`;
  typed.set(path, secret);
  return path;
}

/** A file that was named from the working directory, as the configuration names it. */
function fromFolder(folder: string, file: string): string {
  const inside = relative(folder, resolve(file));
  return inside.startsWith('..') || isAbsolute(inside) ? resolve(file) : `./${inside}`;
}

/** Writes the configuration, and of the typed secrets those that it names. */
async function write({ io, path, folder, typed, answers }: Interview): Promise<void> {
  const named = JSON.stringify(answers);
  const secrets = [...typed].filter(([file]) => named.includes(JSON.stringify(file)));
  for (const [file, secret] of secrets) await replace(resolve(folder, file), `${secret}\n`);
  await replace(resolve(path), textFrom(answers));
  const files = [path, ...secrets.map(([file]) => resolve(folder, file))];
  io.out(`\nWritten: ${files.join(', ')}. Only you can read ${files.length > 1 ? 'them' : 'it'}.\n`);
}

/** Until the person wants nothing more, or what runs has ended. */
async function offerNext({ io, path, isTried }: Interview): Promise<number> {
  const option = path === 'config.yaml' ? '' : ` --config ${path}`;
  const given = { options: { config: path }, words: [] };
  const program = typedAs(process.argv[1]);
  const unit = unitOf(process.argv[1] ?? '');
  const offers = [
    `check it: ${program} check --live${option}${isTried ? '' : ' (not all of it worked)'}`,
    `try it now, until Ctrl-C: ${program} run${option}`,
    'nothing more now',
    ...(unit === null ? [] : ['have it start with this machine, as a service']),
  ];
  io.out(`What comes next?\n${offers.map((offer, at) => `  ${at + 1}  ${offer}\n`).join('')}`);
  for (;;) {
    const choice = await number(io, 'Next', offers.length, 3).catch(() => 3);
    if (choice === 3) return EXIT.fine;
    if (choice === 2) return run(given, io);
    if (choice === 1) await check({ ...given, options: { ...given.options, live: true } }, io);
    if (choice === 4 && unit !== null) io.out(await writeService(resolve(path), unit));
  }
}

/** 1 to `most`. */
async function number(io: Io, what: string, most: number, usual?: number): Promise<number> {
  for (;;) {
    const typed = await line(io, `${what} (number)`, usual === undefined ? undefined : String(usual));
    if (/^\d{1,3}$/.test(typed) && Number(typed) >= 1 && Number(typed) <= most) return Number(typed);
    io.out(`Allowed: a number from 1 to ${most}.\n`);
  }
}

const isYes = async (io: Io, question: string): Promise<boolean> =>
  /^y(es)?$/i.test(await line(io, question, 'n'));

/** What was typed, or `usual` for nothing; without `usual` it asks again. Rejects with setup_ended. */
async function line(io: Io, question: string, usual?: string): Promise<string> {
  for (;;) {
    const typed = await answerTo(`${question}${usual ? ` [${usual}]` : ''}: `, io);
    const answer = typed.trim() || usual;
    if (answer !== undefined) return answer;
  }
}

/** Rejects with setup_ended. */
async function answerTo(question: string, io: Io, isHidden = false): Promise<string> {
  const typed = await io.ask(question, isHidden);
  if (typed !== null && !io.interrupted.aborted) return typed;
  const message = 'Ended before the last answer; no configuration was written.';
  throw refusal('setup_ended', message, 'Run it again; a session that was signed in is kept.');
}

/** A program, and the systemd unit that comes with it. */
type Unit = Readonly<Record<'program' | 'unit', string>>;

/** The unit of the file that runs. `null`: the package has no unit, as in a container. */
export function unitOf(file: string): Unit | null {
  if (!existsSync(file)) return null;
  const program = realpathSync(file);
  const unit = join(dirname(program), '../systemd/heat2mqtt.service');
  return existsSync(unit) ? { program, unit } : null;
}

/**
 * Writes beside the configuration what the unit has to say otherwise, and resolves to what a person types to install both. The
 * service runs as this user, who can read configuration and secrets, and writes nowhere but beside the configuration.
 */
export async function writeService(configuration: string, { program, unit }: Unit): Promise<string> {
  const quoted = (text: string) => `"${text.replaceAll('%', '%%').replaceAll('"', '\\"')}"`;
  const folder = dirname(configuration);
  const file = join(folder, 'heat2mqtt-service.conf');
  const changes = `# Written by heat2mqtt setup: which program, which configuration, and which user.
[Service]
ExecStart=
ExecStart=${quoted(process.execPath)} ${quoted(program)} run --config ${quoted(configuration)}
DynamicUser=no
User=${userInfo().username}
# The configuration names the files of its secrets, and its state directory.
LoadCredential=
StateDirectory=
ProtectHome=no
ReadWritePaths=${quoted(folder)}
`;
  await replace(file, changes);
  const [from, written] = [unit, file].map((path) => (/^[\w./-]+$/.test(path) ? path : `"${path}"`));
  return `Written: ${file}. To install the service, type these (heat2mqtt does not become root by itself):

  sudo cp ${from} /etc/systemd/system/
  sudo install -D -m 644 ${written} /etc/systemd/system/heat2mqtt.service.d/setup.conf
  sudo systemctl daemon-reload
  sudo systemctl enable --now heat2mqtt

`;
}

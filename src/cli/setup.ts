// heat2mqtt setup: asks a person for provider, login and broker, tries each answer at once, and writes the configuration
// and the files of its passwords.
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { access, constants, readFile } from 'node:fs/promises';
import { dirname, isAbsolute, relative, resolve } from 'node:path';
import { LoginSuspended } from '../auth/login.ts';
import { POLL_NOW } from '../auth/refusals.ts';
import { ConfigInvalid, loadConfig } from '../config/load.ts';
import { KNOWN_PROVIDERS, type ProviderAddresses, UNTRIED } from '../config/providers.ts';
import { EXIT, Failure, failure } from '../foundation/failure.ts';
import { createScrubber } from '../foundation/log.ts';
import { openBroker } from '../mqtt/broker.ts';
import { newClientId } from '../store/installation.ts';
import { makePrivateDirectory, replace } from '../store/privateFiles.ts';
import { type Command, type Io, wrongUsage } from './command.ts';
import { signInWith } from './login.ts';
import type { Settings } from './settings.ts';
import { type AccountAnswers, type Answers, type BrokerAnswers, fileFrom } from './setupFile.ts';
import { openUpstreamBeside, pickAccount } from './upstream.ts';

const setupEnded = () =>
  failure('setup_ended', 'Ended before the last answer; no configuration was written.', {
    exit: EXIT.usage,
    retry: 'never',
    hint: 'Run it again; a session that was signed in is kept.',
  });

interface Good<T> {
  readonly answer: T;
  /** `false`: kept although it did not work. */
  readonly isTried: boolean;
}

/** Where the files of passwords go. */
interface Place {
  /** That of the configuration. */
  readonly folder: string;
  /** What was typed, by the path of its file in the configuration. Nothing is written before the last answer. */
  readonly typed: Map<string, string>;
}

// Good enough to be checked; what is not asked yet is not tried either.
const NOBODY: AccountAnswers = { username: 'nobody', password_file: null };
const OWN_BROKER = { port: 1883, host: '127.0.0.1' };

export const setup: Command = async (given, io) => {
  if (!io.isInteractive)
    throw wrongUsage(
      'setup asks questions, and nobody sits at the input. `config example` prints a file to fill in.',
    );
  const path = typeof given.options.config === 'string' ? given.options.config : 'config.yaml';
  if (existsSync(path))
    throw wrongUsage(`${path} is there already, and is not touched: --config PATH writes another one.`);
  await access(dirname(resolve(path)), constants.W_OK).catch((err) => {
    throw wrongUsage(`${path} cannot be written there (${codeOf(err)}).`);
  });
  io.out(
    `This writes ${path}. Each answer is tried at once; Enter takes what is in brackets, Ctrl-C ends it.\n\n`,
  );

  const place: Place = { folder: dirname(resolve(path)), typed: new Map() };
  const stateDir = stateDirBeside(resolve(path), io.env);
  // Else one of this name in the working directory would be taken.
  if (stateDir !== null) await makePrivateDirectory(resolve(place.folder, stateDir)).catch(() => undefined);
  const settingsOf = (answers: Answers) => settingsFrom(fileFrom(answers, stateDir), path, place, io);
  let provider: Good<ProviderAddresses> | undefined;
  const askAddresses = async () => {
    provider = await untilGood(io, provider?.answer, askProvider, async (answer) => {
      const settings = await settingsOf({
        provider: answer,
        account: NOBODY,
        broker: { embedded: OWN_BROKER },
      });
      const { issuer } = await openUpstreamBeside(settings, pickAccount(settings, undefined), io);
      await issuer.offersDevice();
      return 'the issuer answers';
    });
    return provider.answer;
  };
  const login = await untilGood<Pick<Answers, 'provider' | 'account'>>(
    io,
    undefined,
    async (_, before) => ({
      provider:
        before?.provider && !(await isYes(io, 'Are the addresses wrong?'))
          ? before.provider
          : await askAddresses(),
      account: await askAccount(io, place, before?.account),
    }),
    async (answer) => {
      const settings = await settingsOf({ ...answer, broker: { embedded: OWN_BROKER } });
      const account = pickAccount(settings, undefined);
      const upstream = await signInWith(settings.config.provider?.sign_in ?? 'auto', account, settings, io);
      const { properties } = await upstream.provider.discover();
      const meters = properties.flatMap(({ meterIdentifiers }) => meterIdentifiers);
      return `signed in; heat meters: ${meters.join(', ') || properties.length}`;
    },
  );
  const broker = await untilGood<BrokerAnswers>(
    io,
    undefined,
    (_, before) => askBroker(io, place, before),
    async (answer) => {
      const { mqtt } = (await settingsOf({ ...login.answer, broker: answer })).config;
      if (answer.embedded) return ownBrokerWords(answer.embedded);
      const connection = await openBroker(mqtt, newClientId(), 'setup', io.clock);
      await connection.close(1_000);
      return 'the broker answers';
    },
    async (answer, { code }) => {
      // A file that is no certificate ends the connection without a word about trust.
      const isUntrusted = code === 'broker_not_trusted' || (code === 'broker_unreachable' && answer.ca_file);
      if (!isUntrusted) return undefined;
      const file = await line(io, "File with the authority's certificate (Enter for none)", '');
      return file === '' ? undefined : { ...answer, ca_file: fromFolder(place, file) };
    },
  );

  const { account } = login.answer;
  const named = [account.password_file, broker.answer.password_file, broker.answer.embedded?.password_file];
  for (const [file, secret] of place.typed)
    if (named.includes(file)) await replace(resolve(place.folder, file), `${secret}\n`);
  await replace(resolve(path), fileFrom({ ...login.answer, broker: broker.answer }, stateDir));
  const option = path === 'config.yaml' ? '' : ` --config ${path}`;
  const isTried = login.isTried && broker.isTried;
  const written = named.flatMap((file) =>
    file && place.typed.has(file) ? [resolve(place.folder, file)] : [],
  );
  const files = [path, ...written];
  io.out(`\nWritten: ${files.join(', ')}. Only you can read ${files.length > 1 ? 'them' : 'it'}. `);
  if (!isTried) io.out(`Not all of it worked: first try it with heat2mqtt check --live${option}. `);
  io.out(`Start with: heat2mqtt run${option}\n`);
  return EXIT.fine;
};

/**
 * Asks until an answer is good, or the person keeps it all the same. What is no configuration cannot be kept, and is
 * not proposed again. `cure`: the answer with what its fault asks for, or `undefined`.
 */
async function untilGood<T>(
  io: Io,
  before: Partial<T> | undefined,
  ask: (io: Io, before: Partial<T> | undefined) => Promise<T>,
  attempt: (answer: T) => Promise<string>,
  cure: (answer: T, fault: Failure) => Promise<T | undefined> = async () => undefined,
): Promise<Good<T>> {
  let usual = before;
  for (let answer = await ask(io, usual); ; ) {
    const fault = await attempt(answer).then(
      (words) => void io.out(`ok: ${words}\n\n`),
      (err: unknown) => err,
    );
    if (fault === undefined) return { answer, isTried: true };
    if (!(fault instanceof Failure) || io.interrupted.aborted) throw fault;
    if (fault instanceof ConfigInvalid) {
      io.out(`${fault.message}\n`);
      usual = { ...usual, ...withoutFaults(answer, fault) };
    } else {
      io.out(`${fault.message}\n${adviceFor(fault)}\n`);
      usual = answer;
      const cured = await cure(answer, fault);
      if (cured !== undefined) {
        answer = cured;
        continue;
      }
      if (await isYes(io, 'Keep these answers all the same?')) return { answer, isTried: false };
    }
    answer = await ask(io, usual);
  }
}

/** Its hint, as long as no daemon runs of which a poll could be requested. */
function adviceFor(fault: Failure): string {
  if (fault instanceof LoginSuspended)
    return 'Correct the user name or the password, or keep these answers and try heat2mqtt check --live later.';
  return (fault.hint ?? '').replace(POLL_NOW, 'try again here');
}

const withoutFaults = <T>(answer: T, { faults }: ConfigInvalid): Partial<T> =>
  Object.fromEntries(
    Object.entries(answer ?? {}).filter(([key]) => !faults.some(({ path }) => path.split('.').includes(key))),
  ) as Partial<T>;

/** As it is written in the configuration. `null`: what runs this names one in the environment. */
function stateDirBeside(path: string, env: Io['env']): string | null {
  if (env.STATE_DIRECTORY) return null;
  // The systemd unit may not write below /etc, and has its state there.
  return path.startsWith('/etc/') ? '/var/lib/heat2mqtt' : './state';
}

async function settingsFrom(text: string, path: string, { folder, typed }: Place, io: Io): Promise<Settings> {
  const scrubber = createScrubber();
  const secrets = new Map([...typed].map(([file, secret]) => [resolve(folder, file), secret]));
  const read = async (file: string) => (file === path ? text : (secrets.get(file) ?? readFile(file)));
  return { ...(await loadConfig({ path, readFile: read, env: io.env, now: Date.now, scrubber })), scrubber };
}

async function askProvider(io: Io, before?: Partial<ProviderAddresses>): Promise<ProviderAddresses> {
  const own = KNOWN_PROVIDERS.length + 1;
  io.out('Who is your provider?\n');
  for (const [at, { name, source }] of KNOWN_PROVIDERS.entries())
    io.out(`  ${at + 1}  ${name}\n     ${UNTRIED}: ${source}\n`);
  io.out(`  ${own}  another one: its portal shows the addresses, as examples/yuno-energy.yaml explains\n`);
  const preset = KNOWN_PROVIDERS[(await number(io, own, before && String(own))) - 1];
  if (preset) return preset.provider;
  const issuer = await line(io, 'Issuer, up to the name after /realms/', before?.issuer);
  const api_url = await line(io, 'API, up to what stands before /reports/usage', before?.api_url);
  const client_id = await line(io, 'Client id', before?.client_id);
  const scopes = await line(io, 'Scopes', (before?.scopes ?? ['openid', 'service-energy']).join(' '));
  const redirect_uri = await line(
    io,
    'Redirect address (redirect_uri of its login page), if you know it',
    before?.redirect_uri ?? '',
  );
  const basics = { issuer, api_url, client_id, scopes: scopes.split(/[\s,]+/) };
  return redirect_uri === '' ? basics : { ...basics, redirect_uri };
}

async function askAccount(io: Io, place: Place, before?: AccountAnswers): Promise<AccountAnswers> {
  const username = await line(io, "User name on the provider's page", before?.username);
  const password_file = await askPassword(io, place, {
    what: 'Password on that page',
    file: './heat-password',
    before: before?.password_file,
    otherwise: 'you sign in on another device',
  });
  return { username, password_file };
}

async function askBroker(io: Io, place: Place, before?: Partial<BrokerAnswers>): Promise<BrokerAnswers> {
  const question = 'MQTT broker ("none": heat2mqtt brings its own)';
  const usual = before?.embedded ? 'none' : (before?.url ?? 'mqtt://localhost:1883');
  const url = await line(io, question, usual);
  if (url === 'none') return { embedded: await askOwnBroker(io, place, before?.embedded) };
  const username = await line(io, 'User name at the broker, if it wants one', before?.username ?? '');
  const basics = { url, ...(before?.ca_file === undefined ? {} : { ca_file: before.ca_file }) };
  if (username === '') return basics;
  const password_file = await askPassword(io, place, {
    what: 'Password at the broker',
    file: './mqtt-password',
    before: before?.password_file,
    otherwise: 'none',
  });
  return { ...basics, username, ...(password_file === null ? {} : { password_file }) };
}

async function askOwnBroker(
  io: Io,
  place: Place,
  before?: BrokerAnswers['embedded'],
): Promise<NonNullable<BrokerAnswers['embedded']>> {
  if (!(await isYes(io, 'Shall other machines reach it, such as that of Home Assistant?'))) return OWN_BROKER;
  const username = await line(io, 'User name that they log in with', before?.username ?? 'home');
  const password_file =
    (await askPassword(io, place, {
      what: 'Password for them',
      file: './mqtt-password',
      before: before?.password_file,
      otherwise: 'one is made up, and written into its file',
    })) ?? keep(place, './mqtt-password', randomBytes(15).toString('base64url'));
  return { ...OWN_BROKER, host: '0.0.0.0', username, password_file };
}

const ownBrokerWords = ({ port, username }: NonNullable<BrokerAnswers['embedded']>): string =>
  username === undefined
    ? `heat2mqtt brings its own broker, on port ${port}. Only this machine reaches it.`
    : `heat2mqtt brings its own broker, on port ${port}. Every machine reaches it as ${username}, with the password.`;

/** Resolves to the file as the configuration names it; `null` for Enter alone where there is none yet. */
async function askPassword(
  io: Io,
  place: Place,
  given: {
    readonly what: string;
    readonly file: string;
    readonly before?: string | null | undefined;
    readonly otherwise: string;
  },
): Promise<string | null> {
  const { what, file, otherwise } = given;
  const there = (await readFile(resolve(place.folder, file), 'utf8').catch(() => '')) === '' ? null : file;
  const kept = given.before ?? there;
  const enter = kept === null ? otherwise : place.typed.has(kept) ? 'the one before' : `the one in ${kept}`;
  const typed = await io.ask(`${what} (not shown; Enter alone: ${enter}): `, true);
  if (typed === null || io.interrupted.aborted) throw setupEnded();
  return typed === '' ? kept : keep(place, file, typed);
}

/** Resolves to the path of its file in the configuration. A file that is there already stays as it is. */
function keep({ folder, typed }: Place, file: string, secret: string): string {
  const isTaken = (path: string) => existsSync(resolve(folder, path)) || existsSync(path);
  let path = file;
  for (let n = 2; isTaken(path); n += 1) path = `${file}-${n}`;
  typed.set(path, secret);
  return path;
}

/** A file that somebody named from the working directory, as the configuration names it. */
function fromFolder({ folder }: Place, file: string): string {
  const inside = relative(folder, resolve(file));
  return inside.startsWith('..') || isAbsolute(inside) ? resolve(file) : `./${inside}`;
}

const codeOf = (err: unknown): string => (err as NodeJS.ErrnoException).code ?? 'unknown error';

/** 1 to `most`. */
async function number(io: Io, most: number, usual: string | undefined): Promise<number> {
  for (;;) {
    const typed = await line(io, 'Number', usual);
    if (/^\d{1,3}$/.test(typed) && Number(typed) >= 1 && Number(typed) <= most) return Number(typed);
    io.out(`Allowed: a number from 1 to ${most}.\n`);
  }
}

const isYes = async (io: Io, question: string): Promise<boolean> =>
  /^y(es)?$/i.test(await line(io, question, 'n'));

/** What was typed, or `usual` for nothing; without `usual` it asks again. Rejects with setup_ended. */
async function line(io: Io, question: string, usual?: string): Promise<string> {
  for (;;) {
    const typed = await io.ask(`${question}${usual ? ` [${usual}]` : ''}: `);
    if (typed === null || io.interrupted.aborted) throw setupEnded();
    const answer = typed.trim() || usual;
    if (answer !== undefined) return answer;
  }
}

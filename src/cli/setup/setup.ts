// heat2mqtt setup: asks a person for provider, login and broker, tries each answer at once, and writes the configuration.
import { existsSync } from 'node:fs';
import { access, constants, readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { loadConfig } from '../../config/load.ts';
import { openBroker } from '../../daemon/publishing/broker.ts';
import { EXIT, Failure } from '../../foundation/failure.ts';
import { createScrubber } from '../../foundation/log.ts';
import { discover } from '../../provider/discovery.ts';
import { create, replace } from '../../store/privateFiles.ts';
import { type Command, type Io, WrongUsage } from '../command.ts';
import { signInWith } from '../login.ts';
import type { Settings } from '../settings.ts';
import { openUpstreamBeside, pickAccount } from '../upstream.ts';
import { PRESETS, type ProviderAnswers } from './presets.ts';
import { type AccountAnswers, type Answers, type BrokerAnswers, fileFrom } from './setupFile.ts';

class SetupEnded extends Failure {
  readonly code = 'setup_ended';
  readonly exitCode = EXIT.usage;

  constructor() {
    super('Ended before the last answer; no configuration was written.', {
      retry: 'never',
      hint: 'Run it again; a session that was signed in is kept.',
    });
  }
}

// Good enough to be checked; what is not asked yet is not tried either.
const NOBODY: AccountAnswers = { username: 'nobody', password_file: null };

export const setup: Command = async (given, io) => {
  if (!io.isInteractive)
    throw new WrongUsage(
      'setup asks questions, and nobody sits at the input. `config example` prints a file to fill in.',
    );
  const path = typeof given.options.config === 'string' ? given.options.config : 'config.yaml';
  if (existsSync(path))
    throw new WrongUsage(`${path} is there already, and is not touched: --config PATH writes another one.`);
  await access(dirname(resolve(path)), constants.W_OK).catch((err) => {
    throw new WrongUsage(`${path} cannot be written there (${codeOf(err)}).`);
  });
  io.out(
    `This writes ${path}. Each answer is tried at once; Enter takes what is in brackets, Ctrl-C ends it.\n\n`,
  );

  const settingsOf = (answers: Answers) => settingsFrom(fileFrom(answers), path, io);
  let provider: ProviderAnswers | undefined;
  const askAddresses = async () => {
    provider = await untilGood(io, provider, askProvider, async (answer) => {
      const settings = await settingsOf({ provider: answer, account: NOBODY, broker: null });
      const { issuer } = await openUpstreamBeside(settings, pickAccount(settings, undefined), io);
      await issuer.offersDevice();
      return 'the issuer answers';
    });
    return provider;
  };
  const login = await untilGood(
    io,
    undefined,
    async (_, before?: Pick<Answers, 'provider' | 'account'>) => ({
      provider:
        before && !(await isYes(io, 'Are the addresses wrong?')) ? before.provider : await askAddresses(),
      account: await askAccount(io, before?.account),
    }),
    async (answer) => {
      const settings = await settingsOf({ ...answer, broker: null });
      const account = pickAccount(settings, undefined);
      const upstream = await signInWith(settings.config.provider?.sign_in ?? 'auto', account, settings, io);
      const { properties } = await discover(upstream.ask, await upstream.identity(), upstream.log);
      const meters = properties.flatMap(({ meterIdentifiers }) => meterIdentifiers);
      return `signed in; heat meters: ${meters.join(', ') || properties.length}`;
    },
  );
  const broker = await untilGood(io, undefined, askBroker, async (answer) => {
    const { mqtt } = (await settingsOf({ ...login, broker: answer })).config;
    if (answer === null) return 'heat2mqtt brings its own broker, on port 1883';
    const connection = await openBroker(mqtt, 'setup', io.clock);
    await connection.close(1_000);
    return 'the broker answers';
  });

  await replace(resolve(path), fileFrom({ ...login, broker }));
  const option = path === 'config.yaml' ? '' : ` --config ${path}`;
  io.out(`\nWritten: ${path}, which only you can read. Start with: heat2mqtt run${option}\n`);
  return EXIT.fine;
};

/** Asks until an answer is good, or the person keeps it all the same. What is no configuration cannot be kept. */
async function untilGood<T>(
  io: Io,
  before: T | undefined,
  ask: (io: Io, before: T | undefined) => Promise<T>,
  attempt: (answer: T) => Promise<string>,
): Promise<T> {
  for (let answer = before; ; ) {
    answer = await ask(io, answer);
    const fault = await attempt(answer).then(
      (words) => void io.out(`ok: ${words}\n\n`),
      (err: unknown) => err,
    );
    if (fault === undefined) return answer;
    if (!(fault instanceof Failure) || io.interrupted.aborted) throw fault;
    io.out(`${fault.message}\n${fault.exitCode === EXIT.config ? '' : `${fault.hint ?? ''}\n`}`);
    if (fault.exitCode !== EXIT.config && (await isYes(io, 'Keep these answers all the same?')))
      return answer;
  }
}

async function settingsFrom(text: string, path: string, io: Io): Promise<Settings> {
  const scrubber = createScrubber();
  const read = async (file: string) => (file === path ? text : readFile(file));
  return { ...(await loadConfig({ path, readFile: read, env: io.env, now: Date.now, scrubber })), scrubber };
}

async function askProvider(io: Io, before: ProviderAnswers | undefined): Promise<ProviderAnswers> {
  const own = PRESETS.length + 1;
  io.out('Who is your provider?\n');
  for (const [at, { name, source }] of PRESETS.entries())
    io.out(`  ${at + 1}  ${name}\n     as in ${source}\n`);
  io.out(`  ${own}  another one: its portal shows the addresses, as examples/yuno-energy.yaml explains\n`);
  const preset = PRESETS[Number(await line(io, 'Number', before ? String(own) : '1')) - 1];
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

async function askAccount(io: Io, before: AccountAnswers | undefined): Promise<AccountAnswers> {
  const username = await line(io, "User name on the provider's page", before?.username);
  const question = 'File with the password ("none": you sign in on another device)';
  const file = await line(io, question, before?.password_file ?? './heat-password');
  if (file === 'none') return { username, password_file: null };
  return { username, password_file: await passwordFile(io, file) };
}

async function askBroker(io: Io, before: BrokerAnswers | undefined): Promise<BrokerAnswers> {
  const question = 'MQTT broker ("none": heat2mqtt brings its own)';
  const url = await line(io, question, before?.url ?? 'mqtt://localhost:1883');
  if (url === 'none') return null;
  const username = await line(io, 'User name at the broker, if it wants one', before?.username ?? '');
  if (username === '') return { url };
  const file = await line(io, 'File with its password', before?.password_file ?? './mqtt-password');
  return { url, username, password_file: await passwordFile(io, file) };
}

/** The password itself is not typed here: it would stay on the screen. */
async function passwordFile(io: Io, given: string): Promise<string> {
  const file = resolve(given);
  try {
    if (!existsSync(file)) {
      await create(file, '');
      io.out(`${file} is there now: empty, and only you can read it.\n`);
    }
    while ((await readFile(file)).length === 0) {
      io.out('Write the password into it, in another window.\n');
      await line(io, 'Press Enter when that is done', '');
    }
    return file;
  } catch (err) {
    if (err instanceof Failure) throw err;
    io.out(`${file} cannot be used (${codeOf(err)}).\n`);
    return passwordFile(io, await line(io, 'Another file'));
  }
}

const codeOf = (err: unknown): string => (err as NodeJS.ErrnoException).code ?? 'unknown error';

const isYes = async (io: Io, question: string): Promise<boolean> =>
  /^y(es)?$/i.test(await line(io, question, 'n'));

/** What was typed, or `usual` for nothing; without `usual` it asks again. Rejects with SetupEnded. */
async function line(io: Io, question: string, usual?: string): Promise<string> {
  for (;;) {
    const typed = await io.ask(`${question}${usual ? ` [${usual}]` : ''}: `);
    if (typed === null || io.interrupted.aborted) throw new SetupEnded();
    const answer = typed.trim() || usual;
    if (answer !== undefined) return answer;
  }
}

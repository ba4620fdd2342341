// heat2mqtt setup: asks a person for provider, login, broker, Home Assistant and page, tries each answer at once, writes the
// configuration and the files of its passwords, and offers what comes next. On a file that is there it changes what is answered
// otherwise.
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { ConfigInvalid } from '../config/faults.ts';
import { readConfigText } from '../config/load.ts';
import { EXIT, Failure } from '../foundation/failure.ts';
import { makePrivateDirectory } from '../store/privateFiles.ts';
import { check } from './check.ts';
import { adviceOf, type Io, typedAs, wrongUsage } from './command.ts';
import type { Command } from './commands.ts';
import { energyDashboard } from './energyDashboard.ts';
import { capital, printLines, textOf, wrapped } from './printing.ts';
import { run } from './run.ts';
import { refuseInFleet } from './settings.ts';
import { Answers } from './setup/answers.ts';
import { choose, isYes } from './setup/asking.ts';
import { faultsElsewhere, type Interview, QUESTIONS, walk } from './setup/interview.ts';
import { pageWords } from './setup/page.ts';
import { STEPS } from './setup/questions.ts';
import { unitOf, writeService } from './setup/service.ts';
import { offerWitnesses } from './setup/witness.ts';
import { tryRoom, unwritable } from './writing.ts';

export const setup: Command<'setup'> = async (given, io) => {
  if (!io.isInteractive)
    throw wrongUsage('setup asks questions and needs a terminal. `config example` prints a file to fill in.');
  const { config: path = 'config.yaml' } = given.options;
  const answers = await openAnswers(path, io);
  const interview: Interview = { io: readable(io), answers, tries: new Map() };
  interview.io.out(introduction(answers, io));
  if (answers.isNew) await untilThrough(interview);
  else {
    // It may have worked for years: only what is changed is tried.
    for (const step of STEPS)
      interview.tries.set(step, { answers: answers.fingerprint(step.about), fault: null });
    if (await isYes(interview.io, 'Go through all questions? (n: to what can be done with it)'))
      await untilThrough(interview);
  }
  return offerNext(interview, io);
};

/** A terminal would break words at its edge. */
const readable = (io: Io): Io => ({
  ...io,
  out: (text) => io.out(wrapped(text, io.columns)),
  ask: (question, isHidden) => io.ask(wrapped(question, io.columns), isHidden),
});

async function openAnswers(path: string, io: Io): Promise<Answers> {
  const folder = dirname(resolve(path));
  const text = existsSync(path) ? await readConfigText(path) : null;
  await tryRoom(folder).catch((err) => {
    throw unwritable(path, err.code);
  });
  const answers = new Answers(path, text, seedFor(path, io), io);
  refuseInFleet(answers.at('fleet'), 'setup', 'docs/fleet.md tells what its configuration needs');
  const elsewhere = answers.isNew ? [] : faultsElsewhere(await answers.faults());
  if (elsewhere.length > 0) throw new ConfigInvalid(elsewhere);
  const stateDir = answers.textAt('state_dir');
  // Otherwise a directory of this name in the working directory would be taken.
  if (answers.isNew && stateDir !== undefined)
    await makePrivateDirectory(resolve(folder, stateDir)).catch(() => undefined);
  return answers;
}

/** A new file has these without a question, and in this order. */
function seedFor(path: string, { env }: Io) {
  // The systemd unit may not write below /etc, and has its state elsewhere.
  const stateDir = resolve(path).startsWith('/etc/') ? '/var/lib/heat2mqtt' : './state';
  return {
    version: 1,
    provider: {},
    accounts: [{}],
    mqtt: {},
    usage: { schedule: '23 */4 * * *' },
    // systemd, say, names one in the environment.
    ...(env.STATE_DIRECTORY ? {} : { state_dir: stateDir }),
  };
}

function introduction(answers: Answers, { env }: Io): string {
  const accounts = Object.keys(Object(answers.at('accounts'))).length;
  const variables = Object.keys(env).filter((name) => /^HEAT2MQTT_(?!CONFIG$)/.test(name));
  return textOf([
    answers.isNew
      ? `This writes ${answers.path}. Each answer is tried at once.`
      : `${answers.path} is there: what it says stands in brackets, and only what you answer otherwise is written.`,
    'Enter takes what is in brackets, "none" empties what may be empty, "back" goes to the question before, and Ctrl-C ends it.',
    accounts > 1 &&
      `It has ${accounts} accounts: the questions are about the first one, and the others stay.`,
    variables.length > 0 && `The environment wins over the file, and sets ${variables.join(', ')}.`,
    '',
  ]);
}

/** Asks these questions, then writes what was answered. */
async function untilThrough(interview: Interview, questions = QUESTIONS): Promise<void> {
  const { io, answers } = interview;
  const undo = answers.save();
  while (!(await walk(questions, interview))) {
    if (questions !== QUESTIONS) return undo();
    io.out('This is the first question.\n');
  }
  const wrong = await answers.faults();
  if (wrong.length > 0) throw new ConfigInvalid(wrong);
  const changes = answers.changes();
  if (changes.length === 0) {
    io.out(`Nothing is different: ${answers.path} stays as it is.\n`);
    return;
  }
  const { isNew } = answers;
  if (!isNew) {
    printLines([`Changed in ${answers.path}: ${changes.join(', ')}.`, ...answers.losses()], io);
    if (!(await isYes(io, 'Write it?'))) {
      io.out('Not written. What you answered is kept until setup ends.\n');
      return;
    }
  }
  const written = await writeInTheEnd(interview);
  const only = isNew ? ` Only you can read ${written.length > 1 ? 'them' : 'it'}.` : '';
  io.out(`\nWritten: ${written.map(({ file }) => file).join(', ')}.${only}\n`);
  for (const { file, besides } of written)
    if (besides !== null)
      io.out(`${file} has a number because ${besides} was there, which stays as it was.\n`);
}

/** A full disk, say, does not cost all answers: it is tried again as long as the person wants. Rejects with the last failure. */
async function writeInTheEnd({ io, answers }: Interview): ReturnType<Answers['write']> {
  for (;;) {
    try {
      return await answers.write();
    } catch (err) {
      if (!(err instanceof Failure) || err.code !== 'file_unwritable') throw err;
      io.out(`${err.message}\nMake room for it, in another window, say: your answers are kept meanwhile.\n`);
      if (!(await isYes(io, 'Try to write it again?'))) throw err;
    }
  }
}

/** It goes on until the person wants nothing more. `plain`: for what other commands print, and what is to be copied. */
async function offerNext(interview: Interview, plain: Io): Promise<number> {
  const { io } = interview;
  for (let isFirst = true; ; isFirst = false) {
    const offers = offersFor(interview, plain);
    const last = offers.length + 1;
    const chosen = await choose(
      io,
      'What comes next',
      [...offers.map(({ words }) => words), 'nothing more now'],
      isFirst ? 1 : last,
    ).catch(() => last);
    const offer = offers[chosen - 1];
    if (offer === undefined) return EXIT.fine;
    await offer.follow().catch((err) => {
      if (!(err instanceof Failure)) throw err;
      io.out(`${err.message}\n${adviceOf(err) ?? ''}\n`);
    });
    if (io.interrupted.aborted) return EXIT.fine;
  }
}

function offersFor(interview: Interview, plain: Io) {
  const { io, answers, tries } = interview;
  const { path } = answers;
  const options = { config: path };
  const typed = (words: string) =>
    `${typedAs(process.argv[1])} ${words}${path === 'config.yaml' ? '' : ` --config ${path}`}`;
  const unit = unitOf(process.argv[1] ?? '');
  const doubt = [...tries.values()].some(({ isKept }) => isKept) ? ' (not all of it worked)' : '';
  const offers = [
    {
      words: `check it: ${typed('check --live')}${doubt}`,
      follow: () => check({ options: { ...options, live: true }, words: [] }, plain),
    },
    { words: `try it now, until Ctrl-C: ${typed('run')}`, follow: () => run({ options, words: [] }, plain) },
    unit !== null && {
      words: 'have it start with this machine, as a service',
      follow: async () => plain.out(await writeService(resolve(path), unit)),
    },
    answers.at('home_assistant') !== undefined && {
      words: "add the meters to Home Assistant's Energy dashboard, once a first poll has found them",
      follow: () => energyDashboard({ options: { ...options, add: true }, words: [] }, plain),
    },
    !answers.at('mqtt.embedded') && {
      words: 'look on the broker for what the meters themselves say, such as by radio (docs/witness.md)',
      async follow() {
        await offerWitnesses(interview);
        await untilThrough(interview, []);
      },
    },
    {
      words: 'see where its page is',
      follow: async () => io.out(`${capital(pageWords((await answers.settings()).config))}.\n`),
    },
    { words: 'change something', follow: () => changeOne(interview) },
  ];
  return offers.filter((offer) => offer !== false);
}

async function changeOne(interview: Interview): Promise<void> {
  const titles = [...new Set(STEPS.map(({ title }) => title))];
  const chosen = await choose(
    interview.io,
    'What is to be changed',
    [...titles, 'nothing'],
    titles.length + 1,
  );
  const title = titles[chosen - 1];
  if (title !== undefined)
    await untilThrough(
      interview,
      STEPS.flatMap((step) => (step.title === title ? step.questions : [])),
    );
}

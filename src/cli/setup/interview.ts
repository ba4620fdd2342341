// Asks the questions of `heat2mqtt setup`: each alone until its answer can be, back to the one before, and again those that do not work.
import { LoginSuspended } from '../../auth/login.ts';
import { ConfigInvalid, type Fault } from '../../config/draft.ts';
import { Failure } from '../../foundation/failure.ts';
import { adviceOf, type Io, refusal } from '../command.ts';
import { type Answers, inlineKeyOf, type Section } from './answers.ts';
import { type Question, STEPS, type Step } from './questions.ts';

export interface Interview {
  readonly io: Io;
  readonly answers: Answers;
  /** What worked of each step, so that it need not be tried again. */
  readonly tried: Map<Step, string>;
  /** Steps whose answers were kept though they did not work. */
  readonly doubtful: Set<Step>;
}

const QUESTIONS = STEPS.flatMap(({ questions }) => questions);

/** Resolves to false when a person went back beyond the first question. Rejects with setup_ended. */
export async function walk(steps: readonly Step[], interview: Interview): Promise<boolean> {
  const places = steps.flatMap((step) => [
    ...step.questions.map((question) => ({ step, question })),
    { step, question: null },
  ]);
  const asked: number[] = [];
  let at = 0;
  while (at < places.length) {
    const { step, question = null } = places[at] ?? {};
    if (step && question === null) await tryOut(step, interview);
    if (question && isAsked(question, interview)) {
      if (await ask(question, interview)) asked.push(at);
      else at = (asked.pop() ?? -1) - 1;
      if (at < -1) return false;
    }
    at += 1;
  }
  return true;
}

const isAsked = ({ when = () => true }: Question, { answers }: Interview): boolean => when(answers);

/** What is in brackets in place of what holds now. */
interface Offer {
  /** It did not work, and is not offered again. */
  readonly refused?: string | undefined;
  readonly instead?: string | undefined;
}

/** Resolves to false where a person goes back instead. Rejects with setup_ended. */
async function ask(question: Question, { io, answers }: Interview, offer: Offer = {}): Promise<boolean> {
  io.out(question.choices?.map(inList).join('') ?? '');
  let { refused } = offer;
  for (;;) {
    const now = holdsNow(question, answers);
    const likely = [offer.instead, now, question.usual?.(answers)];
    const offered = likely.find((one) => one !== undefined && one !== refused) ?? emptyOf(question);
    const isHidden = question.secret !== undefined;
    const typed = await answerTo(
      io,
      isHidden ? secretPrompt(question, answers) : promptOf(question, offered),
      isHidden,
    );
    if (typed === BACK) return false;
    const undo = answers.save();
    const isAsBefore = typed === '' && offered !== undefined && offered === now;
    const wrong =
      (isAsBefore ? null : take(question, typed, offered, answers)) ?? (await faultOf(question, answers));
    if (wrong === null) return true;
    undo();
    refused = typed || offered;
    io.out(`${wrong}\n`);
  }
}

const emptyOf = ({ isOptional, secret }: Question) => (isOptional && !secret ? NONE : undefined);

const take = (question: Question, typed: string, offered: string | undefined, answers: Answers) =>
  question.secret
    ? takeSecret(question, question.secret, typed, answers)
    : takeText(question, typed || offered, answers);

const BACK = 'back';
const NONE = 'none';

function holdsNow({ key, now, secret }: Question, answers: Answers): string | undefined {
  if (secret) return undefined;
  return now ? now(answers) : answers.textAt(key);
}

function promptOf({ words, choices, isYesNo }: Question, offered: string | undefined): string {
  const allowed = isYesNo ? ' (y/n)' : '';
  return `${words}${choices ? ' (number)' : allowed}${offered === undefined ? '' : ` [${offered}]`}: `;
}

function secretPrompt({ key, words, secret }: Question, answers: Answers): string {
  const { file = '', without = '' } = secret ?? {};
  return `${words} (not shown; Enter alone: ${answers.placeOfSecret(key, file) ?? without}): `;
}

/** What is wrong with it, in words; `null`: it was taken. */
function takeText(question: Question, typed: string | undefined, answers: Answers): string | null {
  const { key, choices, isYesNo, isOptional } = question;
  if (typed === undefined) return 'This needs an answer.';
  if (choices && !isNumberUpTo(typed, choices.length)) return notInList(choices.length);
  if (isYesNo && !/^(y|yes|n|no)$/i.test(typed)) return YES_OR_NO;
  if (typed === NONE && !isOptional) return 'This cannot be left empty.';
  const answer = isYesNo ? typed.toLowerCase().slice(0, 1) : typed;
  const taken = answer === NONE ? undefined : answer;
  if (question.take) question.take(answers, taken);
  else answers.put(key, taken);
  return null;
}

const YES_OR_NO = 'Please answer y for yes or n for no.';

/** As `takeText`; Enter alone takes the secret that is there. */
function takeSecret(
  { key, isOptional, take }: Question,
  { file, makeUp, shortest = 0 }: NonNullable<Question['secret']>,
  typed: string,
  answers: Answers,
): string | null {
  const isThere = answers.placeOfSecret(key, file) !== undefined;
  const secret = typed === '' && !isThere ? makeUp?.() : typed;
  if (secret && secret !== NONE && secret.length < shortest)
    return `This is soon guessed by whoever reaches the page: at least ${shortest} characters.`;
  if (secret === NONE || secret === undefined) {
    if (!isOptional) return 'This cannot be left empty.';
    answers.removeSecret(key);
    take?.(answers, undefined);
    return null;
  }
  if (secret === '') answers.takeSecretThere(key, file);
  else answers.putSecret(key, file, secret);
  take?.(answers, key);
  return null;
}

/** What the configuration says against it. */
async function faultOf({ key, choices }: Question, answers: Answers): Promise<string | null> {
  if (choices) return null;
  const faults = (await answers.faults(sectionOf(key))).filter((fault) => isAbout(fault, key));
  return faults.length === 0 ? null : new ConfigInvalid(faults).message;
}

const sectionOf = (key: string) => key.split('.')[0] as Section;

const isAbout = ({ path }: Fault, key: string): boolean =>
  [key, inlineKeyOf(key)].some((one) => path === one || path.startsWith(`${one}.`));

/** Mistakes of the configuration that no question is about. */
export const faultsElsewhere = (faults: readonly Fault[]): readonly Fault[] =>
  faults.filter((fault) => !QUESTIONS.some(({ key, choices }) => !choices && isAbout(fault, key)));

/** Tries the answers of a step until they work, or are kept all the same. Those that have worked are not tried again. */
async function tryOut(step: Step, interview: Interview): Promise<void> {
  const { io, answers, tried, doubtful } = interview;
  for (;;) {
    const answered = answers.fingerprint(step.about);
    if (!step.attempt || tried.get(step) === answered) return;
    try {
      io.out(`ok: ${await step.attempt(await answers.settings(sectionOf(step.about.at(-1) ?? '')), io)}\n\n`);
      tried.set(step, answered);
      doubtful.delete(step);
      return;
    } catch (fault) {
      if (!(fault instanceof Failure) || io.interrupted.aborted) throw fault;
      io.out(`${fault.message}\n${fault instanceof ConfigInvalid ? '' : `${adviceFor(fault)}\n`}`);
      if (await isToBeKept(step, fault, interview)) {
        doubtful.add(step);
        return;
      }
    }
  }
}

/** Offers the answers that may be wrong, until one is another one, or the same are to be tried again (false), or kept (true). */
async function isToBeKept(step: Step, fault: Failure, interview: Interview): Promise<boolean> {
  const { io, answers } = interview;
  const culprits = culpritsOf(step, fault, answers);
  const before = answers.fingerprint(step.about);
  const others = fault instanceof ConfigInvalid ? [] : ['try the same again', 'keep it all the same'];
  const lines = [...culprits.map(({ name }) => name), ...others];
  const likely = BLAMED.get(fault.code)?.keys ?? culprits.flatMap(({ key, choices }) => (choices ? [] : key));
  const guesses = likely.map((key) => culprits.findIndex((one) => one.key === key) + 1);
  const guess = guesses.find((at) => at > 0) ?? 1;
  for (;;) {
    const chosen = await choose(io, 'Which one is to be corrected', lines, guess);
    const question = culprits[chosen - 1];
    if (question === undefined) return chosen === lines.length;
    await correct(question, step, interview, fault);
    if (answers.fingerprint(step.about) !== before) return false;
  }
}

function culpritsOf(step: Step, fault: Failure, answers: Answers): readonly Question[] {
  const ofStep = step.questions.filter(
    ({ when = () => true, isSpare }) => when(answers) || isSpare?.(answers),
  );
  const blamed = QUESTIONS.filter(({ key }) => step.mayBlame?.includes(key));
  const all = [...ofStep, ...blamed];
  if (!(fault instanceof ConfigInvalid)) return all;
  const wrong = all.filter(({ key }) => fault.faults.some((one) => isAbout(one, key)));
  if (wrong.length === 0) throw fault;
  return wrong;
}

/** Asks it alone, and what its new answer makes necessary. */
async function correct(question: Question, step: Step, interview: Interview, fault: Failure): Promise<void> {
  const { answers } = interview;
  const before = step.questions.filter((one) => isAsked(one, interview));
  const instead = question.key === 'provider.issuer' ? issuerNamedIn(fault) : undefined;
  if (!(await ask(question, interview, { refused: holdsNow(question, answers), instead }))) return;
  for (const one of step.questions)
    if (isAsked(one, interview) && !before.includes(one)) await ask(one, interview);
}

/** As openid-client notes it below a failure: how the issuer calls itself, where it is not as configured. */
function issuerNamedIn(failure: unknown): string | undefined {
  for (let at = failure; at instanceof Error; at = at.cause) {
    const { attribute, body } = Object(at.cause) as { attribute?: unknown; body?: { issuer?: unknown } };
    if (attribute === 'issuer' && typeof body?.issuer === 'string') return body.issuer;
  }
  return undefined;
}

interface Blamed {
  /** The questions whose answers are probably wrong, the likeliest first. */
  readonly keys: readonly string[];
  /** In place of the advice to somebody whose daemon runs. */
  readonly advice?: string;
}

const CLIENT_ID = "The address bar of the provider's own login page carries the right one after client_id=.";

const BLAMED: ReadonlyMap<string, Blamed> = new Map<string, Blamed>([
  ['issuer_not_trusted', { keys: ['provider.ca_file'] }],
  ['provider_not_trusted', { keys: ['provider.ca_file'] }],
  ['broker_not_trusted', { keys: ['mqtt.ca_file'] }],
  ['broker_refused', { keys: ['mqtt.password_file', 'mqtt.username'] }],
  ['bad_credentials_or_locked', { keys: ['accounts.0.password_file'] }],
  [
    'client_refused',
    {
      keys: ['provider.client_id'],
      advice: `The issuer does not know this client id, so that the password was not looked at. ${CLIENT_ID}`,
    },
  ],
  [
    'method_disabled',
    {
      keys: ['provider.client_id'],
      advice: `If the client id is right, no password is taken for it: correct the redirect address, or answer none for the password and sign in on another device. ${CLIENT_ID}`,
    },
  ],
  [
    'scope_refused',
    {
      keys: ['provider.scopes'],
      advice: "The address bar of the provider's own login page carries the right ones after scope=.",
    },
  ],
]);

function adviceFor(fault: Failure): string {
  if (fault instanceof LoginSuspended)
    return 'Correct the user name or the password, or keep this and try heat2mqtt check --live later.';
  return BLAMED.get(fault.code)?.advice ?? adviceOf(fault, 'try again here') ?? '';
}

const inList = (line: string, at: number): string => `  ${at + 1}  ${line}\n`;
const notInList = (most: number): string => `Please answer with a number from 1 to ${most}.`;
const isNumberUpTo = (typed: string, most: number): boolean =>
  /^\d{1,3}$/.test(typed) && Number(typed) >= 1 && Number(typed) <= most;

/** Resolves to the number of a line. Rejects with setup_ended. */
export async function choose(
  io: Io,
  words: string,
  lines: readonly string[],
  usual: number,
): Promise<number> {
  io.out(lines.map(inList).join(''));
  for (;;) {
    const typed = (await answerTo(io, `${words} (number) [${usual}]: `)) || String(usual);
    if (isNumberUpTo(typed, lines.length)) return Number(typed);
    io.out(`${notInList(lines.length)}\n`);
  }
}

/** Rejects with setup_ended. */
export async function isYes(io: Io, question: string): Promise<boolean> {
  for (;;) {
    const typed = (await answerTo(io, `${question} (y/n) [y]: `)) || 'y';
    if (/^(y|yes|n|no)$/i.test(typed)) return /^y/i.test(typed);
    io.out(`${YES_OR_NO}\n`);
  }
}

/** What was typed, without the blanks around it unless it is a secret. Rejects with setup_ended. */
async function answerTo(io: Io, question: string, isHidden = false): Promise<string> {
  const typed = await io.ask(question, isHidden);
  if (typed !== null && !io.interrupted.aborted) return isHidden ? typed : typed.trim();
  const message = 'Ended before the last answer; the configuration is as it was.';
  throw refusal('setup_ended', message, 'Run it again; a session that was signed in is kept.');
}

// Asks the questions of `heat2mqtt setup`: each alone until its answer can be, back to the one before, and again those that do not work.
import { LoginSuspended } from '../../auth/loginSuspended.ts';
import { ConfigInvalid, type Fault } from '../../config/faults.ts';
import { Failure } from '../../foundation/failure.ts';
import { adviceOf, type Io } from '../command.ts';
import { type Answers, inlineKeyOf, type Section } from './answers.ts';
import { choose, lineFrom, mistakeIn, printList, promptOf } from './asking.ts';
import { type Question, STEPS, type Step } from './questions.ts';

export interface Interview {
  readonly io: Io;
  readonly answers: Answers;
  readonly tries: Map<Step, Try>;
}

/** The answers of a step were tried, and worked or not. */
interface Try {
  readonly answers: string;
  /** `null`: they work. */
  readonly fault: Failure | null;
  /** They were kept though they do not work. */
  readonly isKept?: true;
}

export const QUESTIONS = STEPS.flatMap(({ questions }) => questions);

/** An interview is at a question of a step, or, without one, at the try of its answers. */
interface Place {
  readonly step: Step;
  readonly question?: Question;
  /** It did not work, and is not offered again. */
  readonly refused?: string | undefined;
  /** Offered in place of what holds now. */
  readonly instead?: string | undefined;
}

const PLACES: readonly Place[] = STEPS.flatMap((step) => [
  ...step.questions.map((question) => ({ step, question })),
  { step },
]);

/**
 * Asks these questions, and those that an answer makes necessary, and tries each step whose answers have changed. Resolves to false
 * when a person goes back beyond the first question. Rejects with setup_ended.
 */
export async function walk(questions: readonly Question[], interview: Interview): Promise<boolean> {
  const open = new Set(questions);
  /** Back leads to the last of them. */
  const past: Place[] = [];
  let place = nextPlace(open, interview);
  while (place !== undefined) {
    const { step, question } = place;
    if (question === undefined) {
      const correction = await settle(step, interview);
      if (correction) past.push(place);
      place = correction ?? nextPlace(open, interview);
    } else if (await ask(question, place, interview)) {
      open.delete(question);
      past.push(place);
      place = nextPlace(open, interview);
    } else {
      // A correction that is left keeps the answer that was there.
      if (PLACES.includes(place)) open.add(question);
      do place = past.pop();
      while (place && !place.question && !tryOf(place.step, interview)?.fault);
      if (place === undefined) return false;
    }
  }
  return true;
}

function nextPlace(open: Set<Question>, interview: Interview): Place | undefined {
  const { answers } = interview;
  for (const question of QUESTIONS) if (!isAsked(question, answers)) open.add(question);
  return PLACES.find(({ step, question }) => {
    if (question) return open.has(question) && isAsked(question, answers);
    const { fault = 'not tried', isKept = false } = tryOf(step, interview) ?? {};
    return step.attempt !== undefined && fault !== null && !isKept;
  });
}

const isAsked = ({ when = () => true }: Question, answers: Answers): boolean => when(answers);

/** The last try of a step, if its answers are still the same. */
function tryOf(step: Step, { answers, tries }: Interview): Try | undefined {
  const last = tries.get(step);
  return last?.answers === answers.fingerprint(step.about) ? last : undefined;
}

/** Resolves to false where a person goes back instead. Rejects with setup_ended. */
async function ask(question: Question, { step, ...offer }: Place, interview: Interview): Promise<boolean> {
  const { io, answers, tries } = interview;
  const refused = new Set([offer.refused]);
  // Answers that were kept all the same are tried again.
  if (tries.get(step)?.isKept) tries.delete(step);
  printList(io, question);
  for (;;) {
    const now = holdsNow(question, answers);
    const likely = [offer.instead, now, question.usual?.(answers)];
    const offered =
      likely.find((answer) => answer !== undefined && !refused.has(answer)) ?? emptyOf(question);
    const prompt = questionWords(question, offered, answers);
    const typed = await lineFrom(io, prompt, question.secret !== undefined);
    if (typed === BACK) return false;
    const undo = answers.save();
    const isAsBefore = typed === '' && offered !== undefined && offered === now;
    const wrong =
      (isAsBefore ? null : take(question, typed, offered, answers)) ?? (await faultOf(question, answers));
    if (wrong === null) return true;
    undo();
    refused.add(typed || offered);
    io.out(`${wrong}\n`);
  }
}

const BACK = 'back';
const NONE = 'none';

const emptyOf = ({ isOptional, secret }: Question) => (isOptional && !secret ? NONE : undefined);

function holdsNow({ key, now, secret }: Question, answers: Answers): string | undefined {
  if (secret) return undefined;
  return now ? now(answers) : answers.textAt(key);
}

function questionWords(question: Question, offered: string | undefined, answers: Answers): string {
  const { key, words, secret } = question;
  if (secret === undefined) return promptOf(question, offered);
  const place = answers.placeOfSecret(key, secret.file) ?? secret.without;
  return `${words} (not shown; Enter alone: ${place}): `;
}

/** Resolves to the mistake in words; `null`: the answer was taken. Enter alone takes the secret that is there. */
function take(question: Question, typed: string, offered: string | undefined, answers: Answers) {
  const { key, isOptional, isYesNo, secret } = question;
  if (secret && typed === '' && answers.placeOfSecret(key, secret.file) !== undefined) {
    answers.takeSecretThere(key, secret.file);
    question.take?.(answers, key);
    return null;
  }
  const words = typed || (secret ? (secret.makeUp?.() ?? NONE) : offered);
  if (words === undefined) return 'This needs an answer.';
  const isEmpty = words === NONE;
  const mistake = mistakeIn(question, words) ?? (isEmpty ? null : secret?.weaknessOf?.(words));
  if (mistake) return mistake;
  if (isEmpty && !isOptional) return 'This cannot be left empty.';
  const answer = isYesNo ? words.toLowerCase().slice(0, 1) : words;
  const taken = isEmpty ? undefined : answer;
  if (secret) answers.putSecret(key, secret.file, taken);
  if (question.take) question.take(answers, taken);
  else if (!secret) answers.put(key, taken);
  return null;
}

/** The mistake that the configuration has now, in words; `null`: none of this question. */
async function faultOf({ key, choices }: Question, answers: Answers): Promise<string | null> {
  if (choices) return null;
  const faults = (await answers.faults(sectionOf(key))).filter((fault) => isAbout(fault, key));
  return faults.length === 0 ? null : new ConfigInvalid(faults).message;
}

const sectionOf = (key: string) => key.split('.')[0] as Section;

const isAbout = ({ path }: Fault, key: string): boolean =>
  [key, inlineKeyOf(key)].some((name) => path === name || path.startsWith(`${name}.`));

/** Mistakes of the configuration that no question is about. */
export const faultsElsewhere = (faults: readonly Fault[]): readonly Fault[] =>
  faults.filter((fault) => !QUESTIONS.some(({ key, choices }) => !choices && isAbout(fault, key)));

/** Tries the answers of a step, unless they have failed already. Resolves to where they are corrected; `null`: nowhere. */
async function settle(step: Step, interview: Interview): Promise<Place | null> {
  const { io, answers, tries } = interview;
  const tried = answers.fingerprint(step.about);
  const { fault } = tryOf(step, interview) ?? { fault: await faultIn(step, interview) };
  tries.set(step, { answers: tried, fault });
  if (fault === null) return null;
  const culprits = culpritsOf(step, fault, answers);
  const others = fault instanceof ConfigInvalid ? [] : ['try the same again', 'keep it all the same'];
  const lines = [...culprits.map(({ name }) => name), ...others];
  const likely = BLAMED[fault.code]?.keys ?? culprits.flatMap(({ key, choices }) => (choices ? [] : key));
  const guesses = likely.map((key) => culprits.findIndex((culprit) => culprit.key === key) + 1);
  const guess = guesses.find((line) => line > 0) ?? 1;
  const chosen = await choose(io, 'Which one is to be corrected', lines, guess);
  const question = culprits[chosen - 1];
  if (question) {
    const instead = question.key === 'provider.issuer' ? issuerNamedIn(fault) : undefined;
    return { step, question, refused: holdsNow(question, answers), instead };
  }
  if (chosen === lines.length) tries.set(step, { answers: tried, fault, isKept: true });
  else tries.delete(step);
  return null;
}

/** `null`: they work. */
async function faultIn(step: Step, { io, answers }: Interview): Promise<Failure | null> {
  try {
    const settings = await answers.settings(sectionOf(step.about.at(-1) ?? ''));
    io.out(`ok: ${await step.attempt?.(settings, io)}\n\n`);
    return null;
  } catch (fault) {
    if (!(fault instanceof Failure) || io.interrupted.aborted) throw fault;
    io.out(`${fault.message}\n${fault instanceof ConfigInvalid ? '' : `${adviceFor(fault)}\n`}`);
    return fault;
  }
}

function culpritsOf(step: Step, fault: Failure, answers: Answers): readonly Question[] {
  const ofStep = step.questions.filter(
    (question) => isAsked(question, answers) || question.isSpare?.(answers),
  );
  const culprits = [...ofStep, ...QUESTIONS.filter(({ key }) => step.mayBlame?.includes(key))];
  if (!(fault instanceof ConfigInvalid)) return culprits;
  const wrong = culprits.filter(({ key }) => fault.faults.some((mistake) => isAbout(mistake, key)));
  if (wrong.length === 0) throw fault;
  return wrong;
}

/** openid-client notes below a failure how the issuer calls itself, if that is not as configured. */
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
  /** It replaces the advice to somebody whose daemon runs. */
  readonly advice?: string;
}

const CLIENT_ID = "The address bar of the provider's own login page carries the right one after client_id=.";

const BLAMED: Readonly<Record<string, Blamed>> = {
  issuer_not_trusted: { keys: ['provider.ca_file'] },
  provider_not_trusted: { keys: ['provider.ca_file'] },
  broker_not_trusted: { keys: ['mqtt.ca_file'] },
  broker_refused: { keys: ['mqtt.password_file', 'mqtt.username'] },
  bad_credentials_or_locked: { keys: ['accounts.0.password_file'] },
  client_refused: {
    keys: ['provider.client_id'],
    advice: `The issuer does not know this client id, so that the password was not looked at. ${CLIENT_ID}`,
  },
  method_disabled: {
    keys: ['provider.client_id'],
    advice: `If the client id is right, no password is taken for it: correct the redirect address, or answer none for the password and sign in on another device. ${CLIENT_ID}`,
  },
  scope_refused: {
    keys: ['provider.scopes'],
    advice: "The address bar of the provider's own login page carries the right ones after scope=.",
  },
};

function adviceFor(fault: Failure): string {
  if (fault instanceof LoginSuspended)
    return 'Correct the user name or the password, or keep this and try heat2mqtt check --live later.';
  return BLAMED[fault.code]?.advice ?? adviceOf(fault, 'try again here') ?? '';
}

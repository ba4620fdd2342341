// Asks a person for one line at a time, until it has the form that is wanted. Each of these rejects with setup_ended.
import { type Io, refusal } from '../command.ts';

export interface Form {
  readonly words: string;
  /** The lines of a list, answered by a number. */
  readonly choices?: readonly string[];
  readonly isYesNo?: true;
}

export const promptOf = ({ words, choices, isYesNo }: Form, offered: string | undefined): string => {
  const allowed = isYesNo ? ' (y/n)' : '';
  return `${words}${choices ? ' (number)' : allowed}${offered === undefined ? '' : ` [${offered}]`}: `;
};

/** `null`: there is none. */
export function mistakeIn({ choices, isYesNo }: Form, typed: string): string | null {
  if (choices && !(/^\d{1,3}$/.test(typed) && choices[Number(typed) - 1] !== undefined))
    return `Please answer with a number from 1 to ${choices.length}.`;
  if (isYesNo && !/^(y|yes|n|no)$/i.test(typed)) return 'Please answer y for yes or n for no.';
  return null;
}

/** Resolves to the typed line, without the blanks around it unless it is a secret. */
export async function lineFrom(io: Io, prompt: string, isHidden = false): Promise<string> {
  const typed = await io.ask(prompt, isHidden);
  if (typed !== null && !io.interrupted.aborted) return isHidden ? typed : typed.trim();
  const message = 'Ended before the last answer; the configuration is as it was.';
  throw refusal('setup_ended', message, 'Run it again; a session that was signed in is kept.');
}

export const printList = (io: Io, { choices = [] }: Form): void =>
  io.out(choices.map((line, at) => `  ${at + 1}  ${line}\n`).join(''));

async function answerTo(io: Io, form: Form, usual: string): Promise<string> {
  printList(io, form);
  for (;;) {
    const typed = (await lineFrom(io, promptOf(form, usual))) || usual;
    const mistake = mistakeIn(form, typed);
    if (mistake === null) return typed;
    io.out(`${mistake}\n`);
  }
}

/** Resolves to the number of a line. */
export const choose = async (io: Io, words: string, choices: readonly string[], usual: number) =>
  Number(await answerTo(io, { words, choices }, String(usual)));

export const isYes = async (io: Io, words: string): Promise<boolean> =>
  /^y/i.test(await answerTo(io, { words, isYesNo: true }, 'y'));

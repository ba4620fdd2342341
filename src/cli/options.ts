// The kinds of options that a command may declare: how the help shows them, and how they are read.
import { wrongOption } from './command.ts';

interface Option<Value> {
  /** The value as the help shows it; undefined: the option has none. */
  readonly shown?: string;
  readonly means: string;
  /** Takes what was typed, each time that the option was given. `name`: such as `--port`. Throws wrong_usage. */
  readonly read: (typed: readonly string[], name: string) => Value;
}

export type DeclaredOptions = Readonly<Record<string, Option<unknown>>>;

export const flag = (means: string): Option<true> => ({ means, read: () => true });

/** An option that counts once. */
const single = <Value>(
  shown: string,
  means: string,
  read: (typed: string, name: string) => Value,
): Option<Value> => ({ shown, means, read: (typed, name) => read(typed.at(-1) ?? '', name) });

export const text = (shown: string, means: string) => single(shown, means, (typed) => typed);

export const oneOf = <const Choice extends string>(
  choices: readonly Choice[],
  means: string,
): Option<Choice> =>
  single(choices.join('|'), means, (typed, name) => {
    const choice = choices.find((each) => each === typed);
    if (choice === undefined) throw wrongOption(name, typed, choices.join(', '));
    return choice;
  });

export const number = (what: string, least: number, most: number, means: string) =>
  single('N', means, (typed, name) => {
    const count = Number(typed);
    if (Number.isInteger(count) && count >= least && count <= most) return count;
    throw wrongOption(name, typed, `${what} from ${least} to ${most}`);
  });

export const port = (means: string) => number('a port', 0, 65_535, means);

/** The values of the options that were given. */
export type Values<Declared> = {
  readonly [Name in keyof Declared]?: Declared[Name] extends Option<infer Value> ? Value | undefined : never;
};

// What a command is given and gives back, and how it refuses its words.
import { about } from '../foundation/about.ts';
import { EXIT, Failure } from '../foundation/failure.ts';
import type { Io } from './io.ts';

/** Values of the options that were given, and the words behind the command. */
export interface Arguments {
  readonly options: Readonly<Record<string, string | boolean | readonly (string | boolean)[] | undefined>>;
  readonly words: readonly string[];
}

/** Resolves to the exit code. */
export type Command = (given: Arguments, io: Io) => Promise<number>;

/** The command line cannot be understood. */
export class WrongUsage extends Failure {
  readonly code = 'wrong_usage';
  readonly exitCode = EXIT.usage;

  constructor(message: string) {
    super(message, { retry: 'never', hint: `\`${about.name} --help\` lists commands and options.` });
  }
}

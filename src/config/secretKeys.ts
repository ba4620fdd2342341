// The pair of keys under which a file gives a secret: the value itself, or the file that holds it.
import { key, text } from './fields.ts';

/** For example `password` and `password_file`. `what` finishes the sentence "The …". */
export function secretKeys<N extends string>(name: N, what: string, exampleFile: string) {
  const inline = key(text.optional(), {
    description: `${what}, written here. Single quotes keep every character as it is. Better: ${name}_file.`,
    example: 'correct horse battery staple',
    allowed: 'a text',
    private: true,
  });
  const file = key(text.optional(), {
    description: `A file that holds ${lowerFirst(what)}; one newline at its end is ignored. Read again whenever needed, so a changed file counts without a restart.`,
    example: exampleFile,
    allowed: 'the path of a readable file',
  });
  return { [name]: inline, [`${name}_file`]: file } as Record<N, typeof inline> &
    Record<`${N}_file`, typeof file>;
}

function lowerFirst(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1);
}

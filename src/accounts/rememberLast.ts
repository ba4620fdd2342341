// A function that remembers its last answer: states are composed far more often than what they are computed of changes.

/** The same answer for the same arguments, by identity. */
export function rememberLast<Args extends readonly unknown[], Answer>(
  compute: (...args: Args) => Answer,
): (...args: Args) => Answer {
  let last: { readonly args: Args; readonly answer: Answer } | null = null;
  return (...args) => {
    const isSame = last?.args.length === args.length && args.every((arg, at) => arg === last?.args[at]);
    if (last === null || !isSame) last = { args, answer: compute(...args) };
    return last.answer;
  };
}

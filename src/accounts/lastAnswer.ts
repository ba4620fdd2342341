// Computes again only when an argument is another one: views are looked at far more often than their facts change.

export function lastAnswer<Args extends readonly unknown[], Answer>(
  compute: (...args: Args) => Answer,
): (...args: Args) => Answer {
  let last: { readonly args: Args; readonly answer: Answer } | null = null;
  return (...args) => {
    if (last === null || args.some((arg, at) => arg !== last?.args[at]))
      last = { args, answer: compute(...args) };
    return last.answer;
  };
}

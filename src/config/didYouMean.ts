// Guesses which known word a misspelt one stands for.

/** The nearest of `known`: at most a third of its letters away, or one the beginning of the other; else undefined. */
export function didYouMean(word: string, known: readonly string[]): string | undefined {
  const plain = simplified(word);
  const near = known
    .map((name) => ({ name, steps: distance(plain, simplified(name)) }))
    .filter(({ name, steps }) => steps <= Math.max(1, Math.floor(name.length / 3)))
    .sort((a, b) => a.steps - b.steps);
  return near[0]?.name ?? known.find((name) => begins(plain, simplified(name)));
}

// baseTopic and base-topic are base_topic.
function simplified(word: string): string {
  return word
    .slice(0, 80)
    .toLowerCase()
    .replace(/[_\s-]/g, '');
}

function begins(a: string, b: string): boolean {
  return Math.min(a.length, b.length) >= 3 && (a.startsWith(b) || b.startsWith(a));
}

// Letters to add, drop, change, or swap with their neighbour.
function distance(a: string, b: string): number {
  const [from, to] = [[...a], [...b]];
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (const [i, letter] of from.entries()) {
    const row = [i + 1];
    for (const [j, other] of to.entries()) {
      const changed = (last[j] ?? 0) + (letter === other ? 0 : 1);
      const swapped = letter === to[j - 1] && from[i - 1] === other ? (beforeLast[j - 1] ?? 0) + 1 : changed;
      row.push(Math.min(changed, swapped, (last[j + 1] ?? 0) + 1, (row[j] ?? 0) + 1));
    }
    [beforeLast, last] = [last, row];
  }
  return last[to.length] ?? 0;
}

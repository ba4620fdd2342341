// So many at once, the others in the order in which they came.

export interface Turns {
  readonly atOnce: number;
  /** Runs it when its turn comes. */
  take<T>(step: () => Promise<T>): Promise<T>;
}

export function openTurns(atOnce: number): Turns {
  let free = atOnce;
  const queue: (() => void)[] = [];
  return {
    atOnce,
    async take(step) {
      if (free > 0) free -= 1;
      else await new Promise<void>((turn) => queue.push(turn));
      try {
        return await step();
      } finally {
        const next = queue.shift();
        if (next) next();
        else free += 1;
      }
    },
  };
}

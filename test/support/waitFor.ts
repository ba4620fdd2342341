// Waiting for something to become true, with words for what was seen when it does not.

export interface Waiting {
  readonly timeoutMs?: number;
  /** What there is instead, for the message of the failure. */
  readonly diagnose?: () => unknown;
}

/** What happens in this process is there after some turns of the event loop; other things are looked for less and less often. */
const LOOKS_IN_A_ROW = 50;
const LONGEST_PAUSE_MS = 5;
/** The tests of the built program allow more, by their vitest.config.ts. */
const USUAL_TIMEOUT_MS = Number(process.env.WAIT_TIMEOUT_MS ?? 10_000);

/** Resolves to the first value of the probe that is neither false nor null nor undefined. */
export async function waitFor<T>(
  description: string,
  probe: () => T | Promise<T>,
  { timeoutMs = USUAL_TIMEOUT_MS, diagnose }: Waiting = {},
): Promise<Exclude<T, false | null | undefined>> {
  const end = performance.now() + timeoutMs;
  for (let looks = 1; ; looks += 1) {
    const value = await probe();
    if (value !== false && value !== null && value !== undefined) {
      return value as Exclude<T, false | null | undefined>;
    }
    if (performance.now() > end) {
      const instead = diagnose ? `; there is: ${JSON.stringify(diagnose(), null, 1)}` : '';
      throw new Error(`waited ${timeoutMs} ms in vain for ${description}${instead}`);
    }
    if (looks < LOOKS_IN_A_ROW) await nextTurn();
    else await turn(Math.min(looks - LOOKS_IN_A_ROW, LONGEST_PAUSE_MS));
  }
}

/** One turn of the event loop. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Lets sockets and promises have their turn. */
export const turn = (ms = 0): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

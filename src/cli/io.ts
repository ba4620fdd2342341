// What a command sees of the world it is typed into.

export interface Io {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isTerminal: boolean;
  readonly columns: number;
  /** Aborts at the first SIGINT or SIGTERM; a second one ends the process at once. */
  readonly interrupted: AbortSignal;
}

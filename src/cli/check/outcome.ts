// The shape of a check: its name, and what is tried, which resolves to what came of it or rejects.

export interface Check {
  readonly name: string;
  /** Resolves to the message, with a hint where there may be one. */
  readonly run: () => Promise<string | Outcome>;
}

/** A hint that is empty or missing is not told. */
export interface Outcome {
  readonly message: string;
  readonly hint?: string | null | undefined;
}

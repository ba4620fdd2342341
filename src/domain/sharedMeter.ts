// Several accounts may list one meter: the one that has its ledger reads it, else the first that finds it. One that
// cannot read it gives it to the next that lists it and can, which keeps it.

export const DUPLICATE_METER = 'duplicate_meter';

export const LONGEST_FAILURE_MS = 24 * 3_600_000;

/** The state of an account, as far as its meters go. */
interface Standing {
  /** Epoch milliseconds; `null`: its last poll went well. */
  readonly failingSince: number | null;
  readonly needsPerson: boolean;
}

/** Waiting for it would leave its meters unread. */
export const cannotRead = ({ failingSince, needsPerson }: Standing, now: number): boolean =>
  needsPerson || (failingSince !== null && now - failingSince >= LONGEST_FAILURE_MS);

// The shape of every document in the state directory, versioned; times are epoch milliseconds.
import { z } from 'zod';
import type { Ledger } from '../domain/ledger.ts';
import type { Codec } from './stateDirectory.ts';

const VERSION = 1;
const instant = z.number().int();
const day = z.string().regex(/^\d{4}-\d{2}-\d{2}$/);
const micro = z.number().int();

/** Wraps a schema as a document of version 1: `{ version: 1, ...fields }`. */
function versioned<T extends object>(schema: z.ZodType<T>): Codec<T> {
  const withVersion = z.looseObject({ version: z.literal(VERSION) });
  return {
    decode: (json) => schema.parse(withVersion.parse(json)),
    encode: (value) => ({ version: VERSION, ...value }),
  };
}

/** Drawn once for each installation. */
export const installationCodec = versioned(
  z.object({ clientId: z.string(), jitterFraction: z.number().min(0).max(1) }),
);

/** Names whose document it is, so that nobody else's is taken for it. */
const ownedBy = <T extends z.ZodType>(value: T) => versioned(z.object({ owner: z.string(), value }));

export const tokensCodec = ownedBy(
  z.object({
    accessToken: z.string(),
    refreshToken: z.string().nullable(),
    obtainedAt: instant,
    accessExpiresAt: instant,
    refreshExpiresAt: instant.nullable(),
  }),
);

/** Refusals of the password step. `secretMark` is a salted hash of the refused secret, to notice a new one. */
export const loginBudgetCodec = versioned(
  z.object({
    refusals: z.number().int().min(0),
    nextAttemptAt: instant.nullable(),
    state: z.enum(['bad_credentials_or_locked', 'needs_user_action', 'method_disabled']).nullable(),
    code: z.string().nullable(),
    secretMark: z.string().nullable(),
  }),
);

export const contextCodec = ownedBy(
  z.object({
    personCustomerId: z.string(),
    siteCodes: z.array(z.string()),
    billingProfileIds: z.array(z.string()),
    properties: z.array(
      z.object({
        propertyCustomerId: z.string(),
        subscriptionId: z.string().nullable(),
        balanceGroupId: z.string().nullable(),
        meterIdentifiers: z.array(z.string()),
      }),
    ),
  }),
);

/** Retained topics that this bridge has written, with what is needed to withdraw them. */
export const announcedCodec = versioned(
  z.object({
    topics: z.array(z.string()),
    /** Discovery topic to component key to platform. */
    components: z.record(z.string(), z.record(z.string(), z.string())),
  }),
);

/** Counts of one local day, and when polls went well. */
export const journalCodec = versioned(
  z.object({
    day,
    requestsToday: z.number().int(),
    loginsToday: z.number().int(),
    lastPollAt: instant.nullable(),
    lastSuccessAt: instant.nullable(),
  }),
);

/** How the days of a ledger were cut: other cuts need the history anew. */
export interface LedgerDocument {
  readonly timezone: string;
  readonly readingCloses: 'same_day' | 'previous_day';
  readonly ledger: Ledger;
}

const amounts = { energy: micro.nullable(), cost: micro.nullable() };
const ledgerSchema = z.object({
  timezone: z.string(),
  readingCloses: z.enum(['same_day', 'previous_day']),
  origin: day,
  opening: z.object({ energy: micro, cost: micro }),
  readTo: day,
  complete: z.boolean(),
  sweptOn: day.nullable(),
  held: z.array(z.tuple([day, amounts.energy, amounts.cost])),
  days: z.array(z.tuple([day, amounts.energy, amounts.cost, z.number().int(), instant])),
});

export const ledgerCodec: Codec<LedgerDocument> = (() => {
  const flat = versioned(ledgerSchema);
  return {
    decode(json) {
      const { timezone, readingCloses, days, held, ...rest } = flat.decode(json);
      const ledger: Ledger = {
        ...rest,
        held: new Map(held.map(([date, energy, cost]) => [date, { energy, cost }])),
        days: new Map(
          days.map(([date, energy, cost, revision, receivedAt]) => [
            date,
            { energy, cost, revision, receivedAt },
          ]),
        ),
      };
      return { timezone, readingCloses, ledger };
    },
    encode: ({ timezone, readingCloses, ledger: { days, held, ...rest } }) =>
      flat.encode({
        timezone,
        readingCloses,
        ...rest,
        held: [...held].map(([date, { energy, cost }]) => [date, energy, cost]),
        days: [...days].map(([date, r]) => [date, r.energy, r.cost, r.revision, r.receivedAt]),
      }),
  };
})();

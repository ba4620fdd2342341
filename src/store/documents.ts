// The shape of every document in the state directory, versioned; times are epoch milliseconds.
import * as z from 'zod';
import type { Codec } from './document.ts';

const VERSION = 1;
// Each is read once: compiling code for its schema would cost more.
const ONCE = { jitless: true };
export const instant = z.number().int();
export const DAY_SHAPE = /^\d{4}-\d{2}-\d{2}$/;
export const day = z.string().regex(DAY_SHAPE);

/** Wraps a schema as a document of version 1: `{ version: 1, ...fields }`. */
export function versioned<T extends object>(schema: z.ZodType<T>): Codec<T> {
  return {
    decode(json) {
      const { version } = Object(json);
      if (version !== VERSION) throw new TypeError('a document of another version');
      return schema.parse(json, ONCE);
    },
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
    askedAt: instant.nullable(),
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
    /** Component key to platform; thousands of meters share a few of these. */
    tables: z.array(z.record(z.string(), z.string())),
    /** Discovery topic to the place of its table. */
    components: z.record(z.string(), z.number().int()),
  }),
);

/** Counts of one local day, and how polls went. */
const accountRecord = z.object({
  day,
  requestsToday: z.number().int(),
  loginsToday: z.number().int(),
  lastPollAt: instant.nullable(),
  lastSuccessAt: instant.nullable(),
  discoveredAt: instant.nullable(),
  /** Oldest first, each with the code of what went wrong. */
  polls: z.array(z.tuple([instant, z.string().nullable()])),
});
export type AccountRecord = Readonly<z.infer<typeof accountRecord>>;

/** By account. */
export const journalCodec = versioned(z.object({ accounts: z.record(z.string(), accountRecord) }));

/** Shapes of the provider's replies by what was asked for, newest first: keys and types, no values. */
export const repliesCodec = versioned(
  z.object({
    replies: z.record(
      z.string(),
      z.array(z.object({ firstSeenAt: instant, status: z.number().int(), shape: z.array(z.string()) })),
    ),
  }),
);

const words = z.string().nullable();
const count = z.number().int().nullable();
const house = z.object({ chamber: words, houseNo: count, name: words, uri: words });
const constituency = z.object({ uri: z.string(), name: z.string(), code: words, type: words, house });

/** A list of constituencies as it was last published; the owner is the service's address. */
export const constituenciesCodec = ownedBy(
  z.object({
    question: z.object({
      chamber: z.enum(['dail', 'seanad']).nullable(),
      houseNo: count,
      chamberIds: z.array(z.string()),
      skip: count,
      limit: count,
    }),
    list: z.object({
      constituencies: z.array(constituency).nullable(),
      total: count,
      complete: z.boolean(),
      raw: z.record(z.string(), z.unknown()).nullable(),
    }),
    fetchedAt: instant,
    stale: z.boolean(),
  }),
);

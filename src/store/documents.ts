// The shape of every document in the state directory, versioned; times are epoch milliseconds.
import * as z from 'zod';
import { type Extras, extras } from '../domain/extras.ts';
import { DAY_SHAPE } from '../domain/period.ts';
import { entityContext } from '../domain/reading.ts';
import { type Codec, NewerDocument, type Owned } from './stateStore.ts';

export const instant = z.number().int();
export const day = z.string().regex(DAY_SHAPE);

/** Wraps a schema as a document: `{ version, ...fields }`. `older` turns documents of earlier versions into this one. */
export function versioned<T extends object>(
  schema: z.ZodType<T>,
  version = 1,
  older: Readonly<Record<number, (json: unknown) => T>> = {},
): Codec<T> {
  return {
    decode(json) {
      const found: unknown = Object(json).version;
      if (found === version) return schema.parse(json, { jitless: true });
      if (typeof found === 'number' && found > version) throw new NewerDocument();
      const upgrade = typeof found === 'number' ? older[found] : undefined;
      if (!upgrade) throw new TypeError('a document of another version');
      return upgrade(json);
    },
    encode: (value) => ({ version, ...value }),
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
    /** What was asked for, not what was granted. Versions up to 0.1 did not write it. */
    scopes: z.array(z.string()).optional(),
  }),
);

/** How a login that needs nobody worked last, where it was not by password alone. */
export const wayInCodec = ownedBy(z.object({ way: z.literal('form') }));

/** Refused and useless logins. `secretMark` is a salted hash of the secret, to notice a new one. */
export const loginBudgetCodec = versioned(
  z.object({
    refusals: z.number().int().min(0),
    nextAttemptAt: instant.nullable(),
    state: z
      .enum(['backoff', 'bad_credentials_or_locked', 'needs_user_action', 'method_disabled', 'login_needed'])
      .nullable(),
    code: z.string().nullable(),
    secretMark: z.string().nullable(),
    askedAt: instant.nullable(),
    // Earlier versions did not write these.
    message: z.string().nullable().default(null),
    useless: z
      .array(z.object({ at: instant, code: z.string(), message: z.string(), hint: z.string() }))
      .default([]),
    unprovenAt: instant.nullable().default(null),
  }),
);

export const contextCodec = ownedBy(entityContext);

const topics = z.array(z.string());
/** Component key to platform. */
const platforms = z.record(z.string(), z.string());

/** Up to version 1 a discovery topic named its components by their place in a list of tables. */
const announcedBefore = z
  .object({ topics, tables: z.array(platforms), components: z.record(z.string(), z.number().int()) })
  .transform(({ topics, tables, components }) => ({
    topics,
    components: Object.fromEntries(
      Object.entries(components).map(([topic, table]) => [topic, tables[table] ?? {}]),
    ),
  }));

/** Retained topics that this bridge has published, and the components of each discovery topic: to withdraw them. */
export const announcedCodec = versioned(
  z.object({ topics, components: z.record(z.string(), platforms) }),
  2,
  { 1: (json) => announcedBefore.parse(json) },
);

/** Counts of one local day, and how polls went. */
const accountRecord = z.object({
  day,
  requestsToday: z.number().int(),
  loginsToday: z.number().int(),
  lastPollAt: instant.nullable(),
  lastSuccessAt: instant.nullable(),
  discoveredAt: instant.nullable(),
  /** The last look for new properties, and for those of an account that was refused. Earlier versions did not note them. */
  searchedAt: instant.nullable().default(null),
  rediscoveredAt: instant.nullable().default(null),
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
/** What was found beside the usage. The owner is the one of the account's tokens: nobody sees another's invoices. */
export const extrasCodec: Codec<Owned<Extras>> = ownedBy(extras);

/** Daily means of an outdoor temperature, °C; the owner is the sensor, and the time zone of its days. */
export const temperaturesCodec = ownedBy(
  z.object({
    /** The first day that was asked for. */
    from: day,
    days: z.array(z.tuple([day, z.number()])),
  }),
);

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
      complete: z.boolean().nullable(),
      raw: z.record(z.string(), z.unknown()).nullable(),
    }),
    fetchedAt: instant,
    stale: z.boolean(),
  }),
);

// The shape of every document in the state directory, versioned; times are epoch milliseconds.
import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import { answered } from '../domain/constituency.ts';
import { type Extras, extras } from '../domain/extras.ts';
import { calendarDay, type EntityContext, entityContext, instant, property } from '../domain/reading.ts';
import { type WitnessRecord, witnessRecord } from '../domain/witnessRecord.ts';
import {
  type Codec,
  type Document,
  NewerDocument,
  type Owned,
  owned,
  type StateStore,
} from './stateStore.ts';

/** Wraps a schema as a document: `{ version, ...fields }`. */
export function versioned<T extends object>(schema: z.ZodType<T>, version = 1): Codec<T> {
  return {
    decode(json) {
      const written: unknown = Object(json).version;
      if (typeof written === 'number' && written > version) throw new NewerDocument();
      if (written !== version) throw new TypeError('a document of another version');
      return schema.parse(json, { jitless: true });
    },
    encode: (value) => ({ version, ...value }),
  };
}

/** Any broker takes such a one. */
const CLIENT_ID = /^[!-~]{1,100}$/;

/** Drawn once for each installation: its client id at the broker, and its place in the jitter of polls. */
export const installationCodec = versioned(
  z.object({ clientId: z.string().regex(CLIENT_ID), jitterFraction: z.number().min(0).max(1) }),
);

/** If they cannot be written, they are drawn again at the next start. */
export async function openInstallation(state: StateStore, random: () => number) {
  const document = state.document('installation', installationCodec);
  const stored = await document.read();
  if (stored !== null) return stored;
  const clientId = `heat2mqtt_${randomBytes(4).toString('hex')}`;
  const drawn = { clientId, jitterFraction: random() };
  await document.write(drawn);
  return drawn;
}

/** Names whose document it is, so that no other's is taken for it. */
const ownedBy = <T extends z.ZodType>(value: T) => versioned(z.object({ owner: z.string(), value }));

/** Raw tokens and absolute times in epoch milliseconds. */
const tokenSet = z.object({
  accessToken: z.string(),
  refreshToken: z.string().nullable(),
  obtainedAt: instant,
  accessExpiresAt: instant,
  refreshExpiresAt: instant.nullable(),
  /** The scopes that were asked for at the login, not those that were granted. Versions up to 0.1 did not write them. */
  scopes: z.array(z.string()).readonly().optional(),
});
export type TokenSet = Readonly<z.infer<typeof tokenSet>>;
export const tokensCodec = ownedBy(tokenSet);

/** A login by the form needed no person, and was not by password alone. */
const wayIn = z.object({ way: z.literal('form') });
export type WayIn = z.infer<typeof wayIn>;
export const wayInCodec = ownedBy(wayIn);

/** A login that was granted, and whose tokens could not be used: when, and why in words of our own. */
const uselessLogin = z.object({ at: instant, code: z.string(), message: z.string(), hint: z.string() });

const loginBudget = z.object({
  /** Attempts that the password step has refused, or that no answer is known of. */
  refusals: z.number().int().min(0),
  /** `null` = stopped until the secret changes or a try is asked for. */
  nextAttemptAt: instant.nullable(),
  /** `null`: the last login was not refused. `backoff`: the program ended in the middle of a login. */
  state: z
    .enum(['backoff', 'bad_credentials_or_locked', 'needs_user_action', 'method_disabled', 'login_needed'])
    .nullable(),
  code: z.string().nullable(),
  /** Salted hash of the credentials, to notice when they change; `null`: not known. */
  secretMark: z.string().nullable(),
  /** The last time that one more attempt after a refusal of the password step was asked for and granted. */
  askedAt: instant.nullable(),
  // Versions up to 0.1 did not write these.
  /** The thing to be done elsewhere, in the words of the refusal; `null`: its code says all. */
  message: z.string().nullable().default(null),
  /** The useless logins of the last day, oldest first. */
  useless: z.array(uselessLogin).readonly().default([]),
  /** The newest login that was granted, until the API has accepted or refused its tokens. */
  unprovenAt: instant.nullable().default(null),
});
export type LoginBudgetRecord = Readonly<z.infer<typeof loginBudget>>;
export const loginBudgetCodec = versioned(loginBudget);

/**
 * A property as versions up to 0.1 wrote it has the identifiers of now in place of those by which its series is named. They would call
 * the series otherwise after an exchange: `meterIdentifiers` of the document stay those of the name, and those of now stand beside them.
 */
const keptProperty = property
  .extend({ currentIdentifiers: property.shape.meterIdentifiers.optional() })
  .transform(({ currentIdentifiers, meterIdentifiers: named, namedAfter: _, ...rest }) =>
    currentIdentifiers === undefined
      ? { ...rest, meterIdentifiers: named }
      : { ...rest, meterIdentifiers: currentIdentifiers, namedAfter: named },
  );
const context = ownedBy(entityContext.extend({ properties: z.array(keptProperty).readonly() }));

export const contextCodec: Codec<Owned<EntityContext>> = {
  decode: context.decode,
  encode({ owner, value }) {
    const properties = value.properties.map(({ namedAfter, meterIdentifiers, ...rest }) =>
      namedAfter === undefined
        ? { ...rest, meterIdentifiers }
        : { ...rest, meterIdentifiers: namedAfter, currentIdentifiers: meterIdentifiers },
    );
    return context.encode({ owner, value: { ...value, properties } });
  },
};

const topics = z.array(z.string());
/** Component key to platform. */
const platforms = z.record(z.string(), z.string());
const announced = versioned(z.object({ topics, components: z.record(z.string(), platforms) }), 2);

/** Up to version 1 a discovery topic named its components by their place in a list of tables. */
const announcedBefore = z
  .object({ version: z.literal(1), topics, tables: z.array(platforms) })
  .extend({ components: z.record(z.string(), z.number().int()) })
  .transform(({ tables, components, ...rest }) => {
    const named = Object.entries(components).map(([topic, table]) => [topic, tables[table] ?? {}]);
    return { ...rest, version: 2, components: Object.fromEntries(named) };
  });

/** Retained topics that this bridge has published, and the components of each discovery topic: to withdraw them. */
export const announcedCodec = {
  ...announced,
  decode: (json: unknown) => announced.decode(announcedBefore.safeParse(json).data ?? json),
};

/** The failure, in words that hold nothing secret or personal. */
const trouble = z.object({ code: z.string(), message: z.string(), hint: z.string().optional() });

/** The facts that events have told so far: they are no news any more. The keys are meters. */
const told = z.object({
  /** A refresh has told that a person is needed, and no poll has told that this is over. */
  needsPerson: z.boolean(),
  /** The end of the access token that the account had then. Earlier versions did not note it. */
  accessExpiresAt: instant.nullable().optional(),
  late: z.record(z.string(), z.boolean()),
  /** The newest day whose use was judged, and in which direction it was unusual. */
  use: z.record(z.string(), z.object({ day: calendarDay, direction: z.string().nullable() })),
});
export type Told = Readonly<z.infer<typeof told>>;

/** The failures of refreshes ahead of expiry since the last one that went well. */
const refreshFailures = z.object({
  /** It says which tokens were to be refreshed. */
  obtainedAt: instant,
  /** So many came in a row, with these tokens. */
  failures: z.number().int(),
  retryAt: instant,
  /** The words of the last one. */
  trouble: z.string(),
});

/** Counts of one local day, how polls went, and when the next one is due. Earlier versions wrote less. */
const accountRecord = z.object({
  day: calendarDay,
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
  pollAt: instant.nullable().default(null),
  /** The provider wants no request before (`Retry-After`). */
  retryAfter: instant.nullable().default(null),
  /** Polls in a row that failed, the first of them, and what the last one failed of. */
  failures: z.number().int().default(0),
  failingSince: instant.nullable().default(null),
  lastError: trouble.nullable().default(null),
  /** `null`: the last refresh went well. */
  refresh: refreshFailures.nullable().default(null),
  // A fleet keeps these two with what is published.
  told: told.optional(),
  /** Events that the broker has not answered yet, oldest first; without those of new days and bills. */
  untold: z
    .array(z.object({ topic: z.string(), payload: z.string(), retain: z.boolean() }))
    .readonly()
    .default([]),
});
export type AccountRecord = Readonly<z.infer<typeof accountRecord>>;

/** Keys are accounts. */
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

export type Replies = ReturnType<typeof repliesCodec.decode>;

/** The extras beside the usage. The owner is the one of the account's tokens: no account sees another's invoices. */
export const extrasCodec: Codec<Owned<Extras>> = ownedBy(extras);

/** Daily means of an outdoor temperature, °C; the owner is the sensor, and the time zone of its days. */
export const temperaturesCodec = ownedBy(
  z.object({
    /** The first day that was asked for. */
    from: calendarDay,
    days: z.array(z.tuple([calendarDay, z.number()])),
  }),
);

export const witnessCodec = ownedBy(witnessRecord);

/** The record of a meter's own register; another topic, field or unit begins anew. `meter`: its key in the configuration. */
export function witnessDocument(
  state: StateStore,
  meter: string,
  {
    topic,
    field,
    unit,
  }: { readonly topic: string; readonly field?: string | undefined; readonly unit?: string | undefined },
): Document<WitnessRecord> {
  const owner = JSON.stringify([topic, field ?? null, unit ?? null]);
  return owned(state.document(`witness-${encodeURIComponent(meter)}`, witnessCodec), owner);
}

/** A list of constituencies as it was last published; the owner is the service's address. */
export const constituenciesCodec = ownedBy(answered.extend({ fetchedAt: instant, stale: z.boolean() }));

// How the documents of an account stand in the database: what SQL may be asked about in plain, secrets and numbers sealed.
import * as z from 'zod';
import { calendarDay } from '../../domain/reading.ts';
import { versioned } from '../documents.ts';
import { markOf, PLACES, type Seal } from './seal.ts';

/** What an account of a fleet has published: digests by topic, and the components of each discovery topic. */
export const publishedCodec = versioned(
  z.object({
    topics: z.record(z.string(), z.string()),
    components: z.record(z.string(), z.record(z.string(), z.string())),
  }),
);

/** What events of an account of a fleet have told. */
export const toldCodec = versioned(
  z.object({
    needsPerson: z.boolean(),
    late: z.record(z.string(), z.boolean()),
    use: z.record(z.string(), z.object({ day: calendarDay, direction: z.string().nullable() })),
  }),
);

/** As a row has it. */
export interface StoredDocument {
  readonly name: string;
  readonly json: unknown;
  readonly sealed: Buffer | null;
}

/** As a ledger's document has it; amounts in millionths, the time in epoch milliseconds. */
export type StoredDay = readonly [
  day: string,
  energy: number | null,
  cost: number | null,
  revision: number,
  receivedAt: number,
];

/** The ledger of one property. */
export interface Series {
  readonly id: number;
  readonly mark: string;
  /** As its meter is called in topics. */
  readonly name: string;
  /** Without its days. */
  ledger: unknown;
  days: readonly StoredDay[];
}

type Json = Record<string, unknown>;

/** Hold no secret and no number of a person. */
const PLAIN = ['journal', 'published', 'told'];
const LEDGER = /^ledger-(.+)$/;

/** The property whose ledger a document of this name is. */
export function propertyOf(name: string): string | null {
  const property = LEDGER.exec(name)?.[1];
  return property === undefined ? null : decodeURIComponent(property);
}

export class DocumentForm {
  readonly #seal: Seal;
  readonly #markKey: string;

  constructor(seal: Seal, markKey: string) {
    this.#seal = seal;
    this.#markKey = markKey;
  }

  mark(property: string): string {
    return markOf(this.#markKey, property);
  }

  sealProperty(property: string): Buffer {
    return this.#seal.close(PLACES.property(this.mark(property)), property);
  }

  /** For the row of an account. */
  toRow(account: string, name: string, whole: unknown): StoredDocument {
    const [json, secret] = split(name, whole);
    return {
      name,
      json,
      sealed: secret === null ? null : this.#seal.close(PLACES.document(account, name), secret),
    };
  }

  /** The whole document. Throws when what is sealed cannot be opened. */
  fromRow(account: string, { name, json, sealed }: StoredDocument): unknown {
    const secret = sealed === null ? null : this.#seal.open(PLACES.document(account, name), sealed);
    return joined(name, json, secret);
  }
}

function split(name: string, whole: unknown): [json: unknown, secret: unknown] {
  if (PLAIN.includes(name)) return [whole, null];
  if (name !== 'extras') return [null, whole];
  // Registers are kept by the number of their property.
  const { owner, value, ...rest } = whole as { owner: string; value: Json };
  const { registers, invoices, ...others } = value;
  const { profiles, ...found } = Object(Object(invoices).found);
  const isFound = Object(invoices).found != null;
  const open = { ...others, invoices: { ...Object(invoices), found: isFound ? found : null } };
  return [
    { ...rest, value: open },
    { owner, registers, profiles },
  ];
}

function joined(name: string, json: unknown, secret: unknown): unknown {
  if (name !== 'extras') return secret ?? json;
  const { owner, registers, profiles } = secret as Json;
  const { value, ...rest } = json as { value: Json };
  const { found, ...invoices } = Object(value.invoices);
  const whole = found == null ? null : { ...found, profiles };
  return { ...rest, owner, value: { ...value, registers, invoices: { ...invoices, found: whole } } };
}

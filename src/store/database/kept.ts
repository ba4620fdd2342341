// The stored state of an account: documents, and the ledgers of its series. It is read with a claim, changed in memory, and written by
// the claim. What holds a secret or a number of a person is sealed.
import type { Day } from '../../domain/period.ts';
import { EXIT, failure } from '../../foundation/failure.ts';
import type { DayRow } from '../ledgerDocument.ts';
import type { Codec } from '../stateStore.ts';
import type { Database } from './database.ts';
import { type Block, type DaysToWrite, daysToWrite, type StoredDays, unpack } from './days.ts';
import { PLACES, type Seal } from './seal.ts';

/** A document of an account, or the ledger of one of its series. */
export interface KeptRow {
  readonly account: string;
  /** A ledger's is the mark of its series. */
  readonly name: string;
  readonly json: object | null;
  readonly sealed: Buffer | null;
  /** The meter's name in topics; `null`: it is no ledger. */
  readonly series: string | null;
  readonly block: Block | null;
  /** Those that the block does not have. */
  readonly days: readonly DayRow[] | null;
}

/**
 * Everything that is kept of these accounts. A ledger that tells no end of a block was written by a process that knows of none: its
 * block may be out of date, and does not count.
 */
export const readKept = (database: Database, accounts: readonly string[]): Promise<KeptRow[]> =>
  database.query<KeptRow>(
    `SELECT account, name, json, sealed, NULL AS series, NULL::json AS block, NULL::json AS days
    FROM heat2mqtt.document WHERE account = ANY($1)
    UNION ALL SELECT s.account, s.mark, s.ledger, NULL, s.name, CASE WHEN b.ends IS NOT NULL THEN s.block END,
      (SELECT json_agg(json_build_array(r.day, r.energy, r.cost, r.revision, (extract(epoch FROM r.received_at) * 1000)::bigint)
        ORDER BY r.day) FROM heat2mqtt.reading r WHERE r.series = s.id AND r.day >= coalesce(b.ends, '-infinity'))
    FROM heat2mqtt.series s,
      LATERAL (SELECT CASE WHEN s.block IS NOT NULL THEN (s.ledger ->> 'blockTo')::date END AS ends) b
    WHERE s.account = ANY($1)`,
    [accounts],
  );

/** The property whose ledger a document of this name is. */
export function propertyOf(name: string): string | null {
  const property = /^ledger-(.+)$/.exec(name)?.[1];
  return property === undefined ? null : decodeURIComponent(property);
}

/**
 * The name under which a document is kept, from its path; `property`: the one whose ledger it is. A ledger is called by the mark of its
 * property.
 */
export function keptAs(
  path: string,
  seal: Seal,
): { readonly name: string; readonly property: string | null } {
  const file = path.slice(path.lastIndexOf('/') + 1);
  const property = propertyOf(file);
  return { name: property === null ? file : seal.mark(property), property };
}

/** They hold no secret and no number of a person. */
const PLAIN = ['journal', 'published'];

/** The facts about a document that SQL may be asked for. */
function plainPart(name: string, json: unknown): unknown {
  if (name !== 'extras') return PLAIN.includes(name) ? json : null;
  const { balance, credit, invoices } = Object(Object(json).value);
  return { balance: balance?.found, credit: credit?.found, invoices: invoices?.found?.all ?? [] };
}

interface Entry {
  json: unknown;
  /** `json` as its codec has read it. */
  value?: unknown;
  isChanged: boolean;
  /** `null`: it is no ledger. */
  readonly ledger: { readonly series: string; stored: StoredDays } | null;
}

/** The columns of a series for the views, beside its readings. */
export interface SeriesWords {
  readonly currency?: string;
  readonly friendlyName?: string | null;
  readonly identifiers?: readonly string[];
}

interface DocumentToWrite {
  readonly name: string;
  readonly json: unknown;
  /** Base 64. */
  readonly sealed: string | null;
}

interface LedgerToWrite extends Omit<DaysToWrite, 'blockTo'> {
  readonly mark: string;
  readonly ledger: object;
}

/** The writes that are due. `written` is to be called once the database has them. */
export interface Changes {
  readonly documents: readonly DocumentToWrite[];
  readonly ledgers: readonly LedgerToWrite[];
  readonly written: () => void;
}

export class Kept {
  readonly #entries = new Map<string, Entry>();
  readonly #account: string;
  readonly #seal: Seal;
  readonly #dropsDamaged: boolean;

  /** `dropsDamaged`: what is damaged counts as absent, in place of a damaged_document. */
  constructor(account: string, seal: Seal, dropsDamaged: boolean) {
    this.#account = account;
    this.#seal = seal;
    this.#dropsDamaged = dropsDamaged;
  }

  /** Takes the rows of its account. Throws damaged_document. */
  load(rows: readonly KeptRow[]): void {
    for (const row of rows) {
      if (row.account !== this.#account) continue;
      if (row.series === null) this.#loadDocument(row);
      else this.#loadLedger(row, row.series);
    }
  }

  #loadDocument({ account, name, json, sealed }: KeptRow): void {
    const opened = sealed === null ? json : this.#seal.open(PLACES.document(account, name), sealed);
    this.#entries.set(name, { json: opened ?? null, isChanged: false, ledger: null });
    if (opened === undefined) this.#noteDamage(name);
  }

  #loadLedger({ name, json, block, days }: KeptRow, series: string): void {
    const { blockTo = null, ...ledger } = Object(json);
    const packed = block === null ? [] : unpack(block);
    // Without days the codec of the ledger refuses it.
    const all = packed && [...packed, ...(days ?? [])];
    const stored = { rows: all && byDay(all), blockTo: block && blockTo };
    this.#entries.set(name, {
      json: json && { ...ledger, days: all },
      isChanged: false,
      ledger: { series, stored },
    });
  }

  #noteDamage(name: string, cause?: unknown): void {
    const { ledger = null } = this.#entries.get(name) ?? {};
    if (!this.#dropsDamaged) throw damagedDocument(this.#account, ledger === null ? name : 'ledger', cause);
    if (ledger === null) this.#entries.set(name, { json: null, isChanged: true, ledger });
    else ledger.stored = { rows: null, blockTo: null };
  }

  /** `null`: there is none. Throws damaged_document. */
  read<T>(name: string, codec: Codec<T>): T | null {
    const entry = this.#entries.get(name);
    if (entry === undefined || entry.json === null) return null;
    try {
      entry.value ??= codec.decode(entry.json);
      return entry.value as T;
    } catch (err) {
      this.#noteDamage(name, err);
      return null;
    }
  }

  /** `value`: what its codec would make of `json`. */
  put(name: string, json: unknown, value?: unknown): void {
    const { ledger = null } = this.#entries.get(name) ?? {};
    this.#entries.set(name, { json, value, isChanged: true, ledger });
  }

  names(): string[] {
    return [...this.#entries.keys()];
  }

  /** Everything is written. */
  isClean(): boolean {
    return [...this.#entries.values()].every(({ isChanged }) => !isChanged);
  }

  countDays(): number {
    const days = [...this.#entries.values()].map(({ ledger }) => ledger?.stored.rows?.size ?? 0);
    return days.reduce((sum, count) => sum + count, 0);
  }

  /** The name of the series of this mark; `''`: the account has none. */
  seriesOf(mark: string): string {
    return this.#entries.get(mark)?.ledger?.series ?? '';
  }

  hasSeries(name: string): boolean {
    return [...this.#entries.values()].some(({ ledger }) => ledger?.series === name);
  }

  /** Its series are those of these rows now. */
  replaceSeries(rows: readonly KeptRow[]): void {
    for (const [name, { ledger }] of this.#entries) if (ledger !== null) this.#entries.delete(name);
    this.load(rows.filter(({ series }) => series !== null));
  }

  /** Readings, or something beside them, have changed. */
  hasNews(): boolean {
    return [...this.#entries].some(
      ([name, { isChanged, ledger }]) => isChanged && (name === 'extras' || ledger !== null),
    );
  }

  /** Of those entries that are wanted. */
  changes(isWanted: (name: string) => boolean, describe: (series: string) => SeriesWords): Changes {
    const changed = [...this.#entries].filter(([name, { isChanged }]) => isChanged && isWanted(name));
    const documents: DocumentToWrite[] = [];
    const ledgers: LedgerToWrite[] = [];
    const noteStored: (() => void)[] = [];
    for (const [name, { json, ledger }] of changed) {
      if (ledger === null) {
        documents.push(this.#documentToWrite(name, json));
        continue;
      }
      const { days = [], ...rest } = Object(json);
      const { blockTo, ...toWrite } = daysToWrite(days, ledger.stored);
      const words = { ...rest, ...describe(ledger.series) };
      ledgers.push({ mark: name, ledger: blockTo === null ? words : { ...words, blockTo }, ...toWrite });
      noteStored.push(() => {
        ledger.stored = { rows: byDay(days), blockTo };
      });
    }
    const written = () => {
      for (const note of noteStored) note();
      for (const [, entry] of changed) entry.isChanged = false;
    };
    return { documents, ledgers, written };
  }

  #documentToWrite(name: string, json: unknown): DocumentToWrite {
    const isOpen = json === null || PLAIN.includes(name);
    const sealed = isOpen ? null : this.#seal.close(PLACES.document(this.#account, name), json);
    return { name, json: plainPart(name, json), sealed: sealed?.toString('base64') ?? null };
  }
}

const byDay = (rows: readonly DayRow[]): ReadonlyMap<Day, DayRow> =>
  new Map(rows.map((row) => [row[0], row]));

const damagedDocument = (account: string, called: string, cause: unknown) =>
  failure('damaged_document', `What the database keeps of ${account} as ${called} is damaged.`, {
    exit: EXIT.unexpected,
    retry: 'never',
    hint: 'Import this account again with `heat2mqtt accounts import`: what is damaged is then read again.',
    cause,
  });

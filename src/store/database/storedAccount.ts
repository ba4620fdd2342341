// The stored state of an account: documents, and the ledgers of its series. It is read after a claim, changed in memory, and written by
// the claim; without one it is only looked at. What holds a secret or a number of a person is sealed.
import type { Property } from '../../domain/reading.ts';
import type { Clock } from '../../foundation/clock.ts';
import { EXIT, failure } from '../../foundation/failure.ts';
import { contextCodec } from '../documents.ts';
import type { DayRow } from '../ledgerDocument.ts';
import type { Codec, Document, StateStore } from '../stateStore.ts';
import type { Database } from './database.ts';
import { type Block, type DaysToWrite, daysToWrite, type StoredDays, unpack } from './days.ts';
import { PLACES, type Seal } from './seal.ts';

/** A document of an account, or the ledger of one of its series. */
export interface StoredRow {
  readonly account: string;
  /** A ledger's is the mark of its series. */
  readonly name: string;
  readonly json: object | null;
  readonly sealed: Buffer | null;
  /** The meter's name in topics; `null`: it is no ledger. */
  readonly series: string | null;
  readonly block: Block | null;
  /** The days that the block does not have. */
  readonly days: readonly DayRow[] | null;
}

/**
 * Everything that is stored of these accounts. A ledger that tells no end of a block was written by a process that knows of none: its
 * block may be out of date, and does not count.
 */
export const readRows = (database: Database, accounts: readonly string[]): Promise<StoredRow[]> =>
  database.query<StoredRow>(
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

/** The caller only looks: another process may work on the account. Rejects with damaged_document, or DatabaseTrouble. */
export async function readStored(
  account: string,
  { database, seal }: { readonly database: Database; readonly seal: Seal },
): Promise<StoredAccount> {
  const stored = new StoredAccount(account, seal, false);
  stored.load(await readRows(database, [account]));
  return stored;
}

/** They hold no secret and no number of a person. */
const PLAIN = ['journal', 'published'];
/** The outcome of a login is written with its tokens, so that tokens that are lost count as a login that was not finished. */
const OF_SESSION = ['tokens', 'login-budget', 'way-in'];
const LEDGER = 'ledger-';

/** The facts about a document that SQL may be asked for. */
function plainPart(name: string, json: unknown): unknown {
  if (name !== 'extras') return PLAIN.includes(name) ? json : null;
  const { balance, credit, invoices } = Object(Object(json).value);
  return { balance: balance?.found, credit: credit?.found, invoices: invoices?.found?.all ?? [] };
}

interface StoredDocument {
  readonly json: unknown;
  /** `json` as its codec has read it. */
  value?: unknown;
  /** It is to be written. */
  isChanged: boolean;
}

interface StoredLedger extends StoredDocument {
  readonly series: string;
  days: StoredDays;
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

export class StoredAccount implements StateStore {
  readonly id: string;
  readonly fault = null;
  /** Writes what has changed of the session at once; `null`: the account is not claimed, and nothing is written. */
  writeSession: (() => Promise<void>) | null = null;
  describe: (series: string) => SeriesWords = () => ({});
  readonly #documents = new Map<string, StoredDocument>();
  /** The keys are marks of properties. */
  readonly #ledgers = new Map<string, StoredLedger>();
  readonly #seal: Seal;
  readonly #dropsDamaged: boolean;

  /** `dropsDamaged`: what is damaged counts as absent, in place of a damaged_document. */
  constructor(id: string, seal: Seal, dropsDamaged: boolean) {
    this.id = id;
    this.#seal = seal;
    this.#dropsDamaged = dropsDamaged;
  }

  /** Takes the rows of its account. Throws damaged_document. */
  load(rows: readonly StoredRow[]): void {
    for (const row of rows) {
      if (row.account !== this.id) continue;
      if (row.series === null) this.#loadDocument(row);
      else this.#loadLedger(row, row.series);
    }
  }

  #loadDocument({ account, name, json, sealed }: StoredRow): void {
    const opened = sealed === null ? json : this.#seal.open(PLACES.document(account, name), sealed);
    this.#documents.set(name, { json: opened ?? null, isChanged: false });
    if (opened === undefined) this.#noteDamage(name);
  }

  #loadLedger({ name, json, block, days }: StoredRow, series: string): void {
    const { blockTo = null, ...ledger } = Object(json);
    const packed = block === null ? [] : unpack(block);
    // Without days the codec of the ledger refuses it.
    const rows = packed && [...packed, ...(days ?? [])];
    this.#ledgers.set(name, {
      json: json && { ...ledger, days: rows },
      isChanged: false,
      series,
      days: { rows, blockTo: block && blockTo },
    });
  }

  #noteDamage(name: string, cause?: unknown): void {
    const ledger = this.#ledgers.get(name);
    if (!this.#dropsDamaged) throw damagedDocument(this.id, ledger ? 'ledger' : name, cause);
    if (ledger) ledger.days = { rows: null, blockTo: null };
    else this.#documents.set(name, { json: null, isChanged: true });
  }

  document<T>(path: string, codec: Codec<T>): Document<T> {
    const file = path.slice(path.lastIndexOf('/') + 1);
    const isLedger = file.startsWith(LEDGER);
    const name = isLedger ? this.#seal.mark(decodeURIComponent(file.slice(LEDGER.length))) : file;
    const put = async (json: unknown, value?: T) => {
      if (isLedger) this.#putLedger(name, json, value);
      else await this.#putDocument(name, json, value);
      return true;
    };
    return {
      read: async () => this.#read(name, codec),
      write: (value) => put(codec.encode(value), value),
      remove: () => put(null),
    };
  }

  #putLedger(mark: string, json: unknown, value: unknown): void {
    const ledger = this.#ledgers.get(mark);
    // Another account reads the meter of a ledger that has no series here.
    if (ledger) this.#ledgers.set(mark, { ...ledger, json, value, isChanged: true });
  }

  async #putDocument(name: string, json: unknown, value: unknown): Promise<void> {
    this.#documents.set(name, { json, value, isChanged: true });
    const isLoginBegun = name === 'login-budget' && Object(json).code === 'login_unfinished';
    // Tokens that cannot be kept must not be used: the run is over then.
    if (name === 'tokens' || isLoginBegun) await this.writeSession?.();
  }

  #read<T>(name: string, codec: Codec<T>): T | null {
    const document = this.#documents.get(name) ?? this.#ledgers.get(name);
    if (document === undefined || document.json === null) return null;
    try {
      document.value ??= codec.decode(document.json);
      return document.value as T;
    } catch (err) {
      this.#noteDamage(name, err);
      return null;
    }
  }

  /** Its ledgers. The database calls one by a mark, from which nobody learns the number of a customer. */
  async list(): Promise<string[]> {
    const properties = this.#read('context', contextCodec)?.value.properties ?? [];
    return properties
      .filter((property) => this.nameOf(property) !== '')
      .map(({ propertyCustomerId }) => `${LEDGER}${encodeURIComponent(propertyCustomerId)}`);
  }

  /** The claim is the lock. */
  withLock<T>(_name: string, _clock: Clock, step: (isHeld: boolean) => Promise<T>): Promise<T> {
    return step(this.writeSession !== null);
  }

  /** The name of a property's series; `''`: it has none, or another account reads it. */
  nameOf({ propertyCustomerId }: Property): string {
    return this.#ledgers.get(this.#seal.mark(propertyCustomerId))?.series ?? '';
  }

  hasSeries(name: string): boolean {
    return [...this.#ledgers.values()].some(({ series }) => series === name);
  }

  /** Its series are those of these rows now. */
  replaceSeries(rows: readonly StoredRow[]): void {
    this.#ledgers.clear();
    this.load(rows.filter(({ series }) => series !== null));
  }

  /** Everything is written. */
  isClean(): boolean {
    return [...this.#documents.values(), ...this.#ledgers.values()].every(({ isChanged }) => !isChanged);
  }

  /** Readings, or something beside them, are to be written: nothing may be published before. */
  hasNews(): boolean {
    const isSomeLedgerChanged = [...this.#ledgers.values()].some(({ isChanged }) => isChanged);
    return isSomeLedgerChanged || this.#documents.get('extras')?.isChanged === true;
  }

  countDays(): number {
    return [...this.#ledgers.values()].reduce((sum, { days }) => sum + (days.rows?.length ?? 0), 0);
  }

  changes(isOfSessionOnly: boolean): Changes {
    const documents = [...this.#documents].filter(
      ([name, { isChanged }]) => isChanged && (!isOfSessionOnly || OF_SESSION.includes(name)),
    );
    const ledgers = [...this.#ledgers].filter(([, { isChanged }]) => isChanged && !isOfSessionOnly);
    return {
      documents: documents.map(([name, { json }]) => this.#documentToWrite(name, json)),
      ledgers: ledgers.map(([mark, ledger]) => this.#ledgerToWrite(mark, ledger)),
      written: () => {
        for (const [, entry] of [...documents, ...ledgers]) entry.isChanged = false;
      },
    };
  }

  #ledgerToWrite(mark: string, ledger: StoredLedger): LedgerToWrite {
    const { days = [], ...rest } = Object(ledger.json);
    const { blockTo, ...toWrite } = daysToWrite(days, ledger.days);
    // If it cannot be written, the run is over and nothing of the account is remembered.
    ledger.days = { rows: days, blockTo };
    const words = { ...rest, ...this.describe(ledger.series) };
    return { mark, ledger: blockTo === null ? words : { ...words, blockTo }, ...toWrite };
  }

  #documentToWrite(name: string, json: unknown): DocumentToWrite {
    const isOpen = json === null || PLAIN.includes(name);
    const sealed = isOpen ? null : this.#seal.close(PLACES.document(this.id, name), json);
    return { name, json: plainPart(name, json), sealed: sealed?.toString('base64') ?? null };
  }
}

const damagedDocument = (account: string, called: string, cause: unknown) =>
  failure('damaged_document', `What the database keeps of ${account} as ${called} is damaged.`, {
    exit: EXIT.unexpected,
    retry: 'never',
    hint: 'Import this account again with `heat2mqtt accounts import`: what is damaged is then read again.',
    cause,
  });

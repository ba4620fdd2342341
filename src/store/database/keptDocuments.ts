// What the database keeps of one account: its sealed documents, and the days of its ledgers, which are rows.
import type { Database, Statements } from './database.ts';
import { readSeries, type Series } from './readings.ts';
import type { Seal } from './seal.ts';

interface Named {
  readonly name: string;
  readonly json: unknown;
}

const LEDGER = /^ledger-(.+)$/;

export class KeptDocuments {
  readonly account: string;
  /** By name, as it is in the database; a ledger is without its days. */
  readonly stored: Map<string, unknown>;
  readonly #seal: Seal;
  #series: Map<string, Series>;

  static async read(account: string, database: Database, seal: Seal): Promise<KeptDocuments> {
    const [rows, series] = await Promise.all([
      database.query<{ mark: string; sealed: Buffer }>(
        'SELECT mark, sealed FROM heat2mqtt.document WHERE account = $1',
        [account],
      ),
      readSeries(database, account),
    ]);
    const opened = rows.map(({ mark, sealed }) => seal.open(documentPlace(account, mark), sealed) as Named);
    return new KeptDocuments(account, seal, new Map(opened.map(({ name, json }) => [name, json])), series);
  }

  private constructor(
    account: string,
    seal: Seal,
    stored: Map<string, unknown>,
    series: Map<string, Series>,
  ) {
    this.account = account;
    this.stored = stored;
    this.#seal = seal;
    this.#series = series;
  }

  /** As it is called here; the path may name the account. */
  nameOf(path: string): string {
    return path.replace(`accounts/${this.account}/`, '');
  }

  /** The whole document. */
  json(name: string): unknown {
    const json = this.stored.get(name);
    const series = this.seriesOf(name);
    return json && series ? { ...json, days: series.days } : json;
  }

  /** Of a property; undefined: it has none, or another account reads it. */
  series(property: string): Series | undefined {
    return this.#series.get(this.#seal.mark(property));
  }

  /** Of a ledger, by the name of its document. */
  seriesOf(name: string): Series | undefined {
    const property = LEDGER.exec(name)?.[1];
    return property === undefined ? undefined : this.series(decodeURIComponent(property));
  }

  /** Others may have been claimed meanwhile. */
  async readSeriesAnew(sql: Statements): Promise<void> {
    this.#series = await readSeries(sql, this.account);
  }
}

export const documentPlace = (account: string, mark: string): string => `document ${account} ${mark}`;

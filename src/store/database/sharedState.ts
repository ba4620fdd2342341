// Documents that all processes of a fleet share, and that belong to no account: the last one written counts.
import type { Clock } from '../../foundation/clock.ts';
import type { Codec, Document, StateStore } from '../stateStore.ts';
import type { Database } from './database.ts';

export class SharedState implements StateStore {
  readonly fault = null;
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  document<T>(name: string, codec: Codec<T>): Document<T> {
    const database = this.#database;
    return {
      async read() {
        const [row] = await database.query<{ json: unknown }>(
          'SELECT json FROM heat2mqtt.shared_document WHERE name = $1',
          [name],
        );
        return row === undefined ? null : codec.decode(row.json);
      },
      async write(value) {
        await database.query(
          `INSERT INTO heat2mqtt.shared_document (name, json) VALUES ($1, $2)
          ON CONFLICT (name) DO UPDATE SET json = excluded.json`,
          [name, JSON.stringify(codec.encode(value))],
        );
      },
      async remove() {
        await database.query('DELETE FROM heat2mqtt.shared_document WHERE name = $1', [name]);
      },
    };
  }

  async list(folder: string): Promise<string[]> {
    const rows = await this.#database.query<{ name: string }>(
      'SELECT name FROM heat2mqtt.shared_document WHERE starts_with(name, $1)',
      [`${folder}/`],
    );
    return rows.map(({ name }) => name.slice(folder.length + 1));
  }

  withLock<T>(_name: string, _clock: Clock, step: (isHeld: boolean) => Promise<T>): Promise<T> {
    return step(false);
  }

  async retry(): Promise<void> {}
  async unlock(): Promise<void> {}
}

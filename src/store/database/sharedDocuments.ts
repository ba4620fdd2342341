// Documents that all processes of a fleet share, and that belong to no account: the last one written counts.
import type { StateStore } from '../stateStore.ts';
import type { Database } from './database.ts';

/** Each is read once by a process. */
export function sharedDocuments(database: Database): Pick<StateStore, 'document'> {
  const known = new Map<string, unknown>();
  return {
    document: (name, codec) => ({
      async read() {
        if (!known.has(name)) {
          const text = 'SELECT json FROM heat2mqtt.shared_document WHERE name = $1';
          const [row] = await database.query<{ json: unknown }>(text, [name]);
          known.set(name, row?.json ?? null);
        }
        const json = known.get(name);
        return json === null ? null : codec.decode(json);
      },
      async write(value) {
        known.set(name, codec.encode(value));
        await database.query(
          `INSERT INTO heat2mqtt.shared_document (name, json) VALUES ($1, $2)
          ON CONFLICT (name) DO UPDATE SET json = excluded.json`,
          [name, JSON.stringify(codec.encode(value))],
        );
      },
      async remove() {
        known.set(name, null);
        await database.query('DELETE FROM heat2mqtt.shared_document WHERE name = $1', [name]);
      },
    }),
  };
}

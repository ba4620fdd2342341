// What stands retained on the broker, remembered on disk, so that whatever is gone can be withdrawn even later.
import type { Clock } from '../../foundation/clock.ts';
import type { Log } from '../../foundation/log.ts';
import type { Message } from '../../mqtt/message.ts';
import { type DiscoveryDocument, platformsOf } from '../../publication/discovery.ts';
import { announcedCodec } from '../../store/documents.ts';
import type { StateDirectory } from '../../store/stateDirectory.ts';
import { openUpkeep } from './autosave.ts';

export interface Standing {
  /** Component key to platform, as the topic last brought them to the broker. */
  components(topic: string): Readonly<Record<string, string>>;
  /** Says what stands now of one owner: an account, or the bridge itself. */
  stand(owner: string, messages: readonly Message[], documents: readonly DiscoveryDocument[]): void;
  /** Topics that stand on the broker and should not. They stay in this list until their withdrawal is delivered. */
  gone(): readonly string[];
  delivered(message: Message): void;
  /** Resolves once everything remembered is on disk, or could not be written. */
  saved(): Promise<void>;
}

export async function openStanding(state: StateDirectory, clock: Clock, log: Log): Promise<Standing> {
  const document = state.document('announced', announcedCodec);
  const stored = await document.read();
  const topics = new Set(stored?.topics ?? []);
  const tables = stored?.tables ?? [];
  const places = new Map(tables.map((table, place) => [JSON.stringify(table), place]));
  const components = new Map(Object.entries(stored?.components ?? {}));
  const current = new Map<string, readonly string[]>();
  const documents = new Map<string, number>();
  // Looking for them means looking at every topic there is.
  let gone: readonly string[] | null = null;
  const upkeep = openUpkeep(
    () =>
      document
        .write({ topics: [...topics], tables, components: Object.fromEntries(components) })
        .catch((err) => log.error({ err }, 'announced topics could not be saved')),
    clock,
  );

  function placeOf(table: Record<string, string>): number {
    const key = JSON.stringify(table);
    const place = places.get(key) ?? tables.push(table) - 1;
    places.set(key, place);
    return place;
  }

  function findGone(): readonly string[] {
    const standing = new Set([...current.values()].flat());
    return [...topics].filter((topic) => !standing.has(topic));
  }

  return {
    saved: upkeep.saved,
    components: (topic) => tables[components.get(topic) ?? -1] ?? {},
    stand(owner, messages, docs) {
      const own = [...new Set(messages.map(({ topic }) => topic))];
      if (current.get(owner)?.join() !== own.join()) gone = null;
      current.set(owner, own);
      for (const doc of docs) documents.set(doc.topic, placeOf(platformsOf(doc)));
      const before = topics.size;
      for (const topic of own) topics.add(topic);
      if (topics.size !== before) upkeep.changed();
    },
    gone: () => (gone ??= findGone()),
    delivered({ topic, payload, retain, step }) {
      if (retain && payload === '' && topics.delete(topic)) {
        components.delete(topic);
        documents.delete(topic);
        gone = null;
        log.info({ topic }, 'withdrawn');
        upkeep.changed();
      }
      const place = documents.get(topic);
      if (step || place === undefined || components.get(topic) === place) return;
      components.set(topic, place);
      upkeep.changed();
    },
  };
}

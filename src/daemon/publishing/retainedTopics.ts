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
  const components = new Map(Object.entries(stored?.components ?? {}));
  const current = new Map<string, readonly string[]>();
  const documents = new Map<string, Readonly<Record<string, string>>>();
  // Looking for them means looking at every topic there is.
  let gone: readonly string[] | null = null;
  const upkeep = openUpkeep(
    () =>
      document
        .write({ topics: [...topics], components: Object.fromEntries(components) })
        .catch((err) => log.error({ err }, 'announced topics could not be saved')),
    clock,
  );

  function findGone(): readonly string[] {
    const standing = new Set([...current.values()].flat());
    return [...topics].filter((topic) => !standing.has(topic));
  }

  return {
    saved: upkeep.saved,
    components: (topic) => components.get(topic) ?? {},
    stand(owner, messages, docs) {
      const own = [...new Set(messages.map(({ topic }) => topic))];
      if (current.get(owner)?.join() !== own.join()) gone = null;
      current.set(owner, own);
      for (const doc of docs) documents.set(doc.topic, platformsOf(doc));
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
      const platforms = documents.get(topic);
      if (step || platforms === undefined) return;
      if (JSON.stringify(components.get(topic)) === JSON.stringify(platforms)) return;
      components.set(topic, platforms);
      upkeep.changed();
    },
  };
}

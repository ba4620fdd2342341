// What stands retained on the broker, remembered on disk, so that whatever is gone can be withdrawn even later.
import type { Log } from '../foundation/log.ts';
import type { Message } from '../mqtt/message.ts';
import { type DiscoveryDocument, platformsOf } from '../publication/discovery.ts';
import { announcedCodec } from '../store/documents.ts';
import type { StateDirectory } from '../store/stateDirectory.ts';

export interface Standing {
  /** Component key to platform, as the topic last brought them to the broker. */
  components(topic: string): Readonly<Record<string, string>>;
  /** Says what stands now of one owner: an account, or the bridge itself. */
  stand(owner: string, messages: readonly Message[], documents: readonly DiscoveryDocument[]): void;
  /** Topics that stand on the broker and should not. They stay in this list until their withdrawal is delivered. */
  gone(): string[];
  delivered(message: Message): void;
  /** Resolves once everything remembered is on disk, or could not be written. */
  saved(): Promise<void>;
}

export async function openStanding(state: StateDirectory, log: Log): Promise<Standing> {
  const document = state.document('announced', announcedCodec);
  const stored = await document.read();
  const topics = new Set(stored?.topics ?? []);
  const components = new Map(Object.entries(stored?.components ?? {}));
  const current = new Map<string, readonly string[]>();
  const documents = new Map<string, Record<string, string>>();
  let saving: Promise<void> | null = null;
  let changed = false;

  function save(): void {
    changed = true;
    saving ??= write().finally(() => {
      saving = null;
    });
  }

  async function write(): Promise<void> {
    while (changed) {
      changed = false;
      await document
        .write({ topics: [...topics], components: Object.fromEntries(components) })
        .catch((err) => log.error({ err }, 'announced topics could not be saved'));
    }
  }

  return {
    saved: async () => saving ?? undefined,
    components: (topic) => components.get(topic) ?? {},
    stand(owner, messages, docs) {
      const own = [...new Set(messages.map(({ topic }) => topic))];
      current.set(owner, own);
      for (const doc of docs) documents.set(doc.topic, platformsOf(doc));
      const before = topics.size;
      for (const topic of own) topics.add(topic);
      if (topics.size !== before) save();
    },
    gone() {
      const standing = new Set([...current.values()].flat());
      return [...topics].filter((topic) => !standing.has(topic));
    },
    delivered({ topic, payload, retain, step }) {
      if (retain && payload === '' && topics.delete(topic)) {
        components.delete(topic);
        documents.delete(topic);
        log.info({ topic }, 'withdrawn');
        save();
      }
      const platforms = documents.get(topic);
      if (step || !platforms || JSON.stringify(components.get(topic)) === JSON.stringify(platforms)) return;
      components.set(topic, platforms);
      save();
    },
  };
}

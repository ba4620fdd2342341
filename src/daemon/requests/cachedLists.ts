// The lists of constituencies that stand on the broker: in memory, on disk, and bounded in number.
import { type ConstituencyList, saysTheSame } from '../../domain/constituency.ts';
import type { Zone } from '../../domain/period.ts';
import type { Log } from '../../foundation/log.ts';
import type { Message } from '../../mqtt/message.ts';
import {
  type ConstituenciesView,
  listMessage,
  placeOf,
  summaryMessage,
} from '../../publication/constituencies.ts';
import type { Topics } from '../../publication/topics.ts';
import { type Document, owned } from '../../store/document.ts';
import { constituenciesCodec } from '../../store/documents.ts';
import type { StateDirectory } from '../../store/stateDirectory.ts';

export interface KeptLists {
  get(place: string): ConstituenciesView | null;
  /** Resolves to whether the list says something new, once it is on the disk. */
  put(view: ConstituenciesView): Promise<boolean>;
  /** A reply of unknown shape goes beside a good list, which stays, marked; resolves to `false` where there is none. */
  putBeside(place: string, raw: ConstituencyList['raw']): Promise<boolean>;
  /** A later fetch has failed: the list stays, marked. */
  markStale(place: string): Promise<void>;
  /** Everything that stands retained. */
  messages(): Message[];
}

export interface KeptListsParts {
  /** The service that the lists come from; those of another one are gone. */
  readonly owner: string;
  /** Where the configured list goes: it is never dropped. */
  readonly usualPlace: string;
  readonly topics: Topics;
  readonly zone: Zone;
  readonly state: StateDirectory;
  readonly log: Log;
}

const FOLDER = 'constituencies';
const MOST_QUERIES = 50;
// Every house there is, each chamber as a whole, and room for houses to come.
const MOST_HOUSES = 100;

export async function openKeptLists(parts: KeptListsParts): Promise<KeptLists> {
  const { usualPlace, topics, zone, state, log } = parts;
  // Oldest first. Messages are written once: their payloads may be large, and are looked at with every piece of news.
  const kept = new Map<string, { readonly view: ConstituenciesView; readonly message: Message }>();
  const place = (view: ConstituenciesView) => ({ view, message: listMessage(topics, zone, view) });
  const file = (name: string): Document<ConstituenciesView> =>
    owned(state.document(`${FOLDER}/${name}`, constituenciesCodec), parts.owner);
  const fileOf = (at: string) => file(at.replace('/', '-'));

  for (const view of await load()) kept.set(placeOf(view.question), place(view));

  async function load(): Promise<ConstituenciesView[]> {
    const names = await state.list(FOLDER);
    const stored = await Promise.all(names.map((name) => file(name).read()));
    return stored.filter((view) => view !== null).sort((a, b) => a.fetchedAt - b.fetchedAt);
  }

  async function keep(view: ConstituenciesView): Promise<void> {
    const at = placeOf(view.question);
    kept.delete(at);
    kept.set(at, place(view));
    await fileOf(at)
      .write(view)
      .catch((err) => log.error({ err }, 'a list of constituencies could not be saved'));
  }

  async function drop(isQuery: boolean, most: number): Promise<void> {
    const same = [...kept.keys()].filter((at) => at.startsWith('query/') === isQuery && at !== usualPlace);
    for (const at of same.slice(0, Math.max(0, same.length - most))) {
      kept.delete(at);
      await fileOf(at)
        .remove()
        .catch((err) => log.error({ err }, 'a list of constituencies could not be removed'));
    }
  }

  return {
    get: (at) => kept.get(at)?.view ?? null,
    async put(view) {
      const before = kept.get(placeOf(view.question))?.view;
      await keep(view);
      await drop(true, MOST_QUERIES);
      await drop(false, MOST_HOUSES);
      return before === undefined || !saysTheSame(before.list, view.list);
    },
    async putBeside(at, raw) {
      const view = kept.get(at)?.view;
      if (raw === null || !view?.list.constituencies) return false;
      await keep({ ...view, list: { ...view.list, raw }, stale: true });
      return true;
    },
    async markStale(at) {
      const view = kept.get(at)?.view;
      if (view && !view.stale) await keep({ ...view, stale: true });
    },
    messages: () => [
      ...[...kept.values()].map(({ message }) => message),
      summaryMessage(topics, zone, usualPlace, kept.get(usualPlace)?.view ?? null),
    ],
  };
}

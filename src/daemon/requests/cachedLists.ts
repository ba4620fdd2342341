// The cached lists of constituencies, retained on the broker: in memory, on disk, and bounded in number.
import { saysTheSame } from '../../domain/constituency.ts';
import type { Zone } from '../../domain/period.ts';
import type { Log } from '../../foundation/log.ts';
import type { Message } from '../../mqtt/message.ts';
import {
  type ConstituenciesView,
  listMessage,
  listName,
  summaryMessage,
} from '../../publication/constituencies.ts';
import type { Topics } from '../../publication/topics.ts';
import { type Document, owned } from '../../store/document.ts';
import { constituenciesCodec } from '../../store/documents.ts';
import type { StateDirectory } from '../../store/stateDirectory.ts';

const FOLDER = 'constituencies';
const MOST_QUERIES = 50;
// Every house there is, each chamber as a whole, and room for houses to come.
const MOST_HOUSES = 100;

interface Parts {
  /** The service that the lists come from; those of another one are ignored. */
  readonly owner: string;
  /** Name of the configured list: it is never dropped. */
  readonly usual: string;
  readonly topics: Topics;
  readonly zone: Zone;
  readonly state: StateDirectory;
  readonly log: Log;
}

/** Each by the name of its question, which also is the end of its topic. */
export class CachedLists {
  readonly #parts: Parts;
  // Oldest first. Messages are written once: their payloads may be large, and are compared at each publication.
  readonly #lists = new Map<string, { readonly view: ConstituenciesView; readonly message: Message }>();

  private constructor(parts: Parts) {
    this.#parts = parts;
  }

  static async open(parts: Parts): Promise<CachedLists> {
    const lists = new CachedLists(parts);
    const files = await parts.state.list(FOLDER);
    const stored = await Promise.all(files.map((file) => lists.#document(file).read()));
    const views = stored.filter((view) => view !== null).sort((a, b) => a.fetchedAt - b.fetchedAt);
    for (const view of views) lists.#set(listName(view.question), view);
    return lists;
  }

  get(name: string): ConstituenciesView | null {
    return this.#lists.get(name)?.view ?? null;
  }

  /** Resolves to whether the list has changed, once it is on the disk. */
  async put(view: ConstituenciesView): Promise<boolean> {
    const before = this.get(listName(view.question));
    await this.#save(view);
    await this.#dropOldest(true, MOST_QUERIES);
    await this.#dropOldest(false, MOST_HOUSES);
    return before === null || !saysTheSame(before.list, view.list);
  }

  /** A later fetch has failed: the list stays, marked. */
  async markStale(name: string): Promise<void> {
    const view = this.get(name);
    if (view && !view.stale) await this.#save({ ...view, stale: true });
  }

  /** Everything retained. */
  messages(): Message[] {
    const { topics, zone, usual } = this.#parts;
    return [
      ...[...this.#lists.values()].map(({ message }) => message),
      summaryMessage(topics, zone, usual, this.get(usual)),
    ];
  }

  #document(file: string): Document<ConstituenciesView> {
    return owned(this.#parts.state.document(`${FOLDER}/${file}`, constituenciesCodec), this.#parts.owner);
  }

  #documentOf(name: string): Document<ConstituenciesView> {
    return this.#document(name.replace('/', '-'));
  }

  #set(name: string, view: ConstituenciesView): void {
    this.#lists.delete(name);
    this.#lists.set(name, { view, message: listMessage(this.#parts.topics, this.#parts.zone, view) });
  }

  async #save(view: ConstituenciesView): Promise<void> {
    const name = listName(view.question);
    this.#set(name, view);
    await this.#documentOf(name)
      .write(view)
      .catch((err) => this.#parts.log.error({ err }, 'a list of constituencies could not be saved'));
  }

  async #dropOldest(isQuery: boolean, most: number): Promise<void> {
    const names = [...this.#lists.keys()].filter(
      (name) => name.startsWith('query/') === isQuery && name !== this.#parts.usual,
    );
    for (const name of names.slice(0, Math.max(0, names.length - most))) {
      this.#lists.delete(name);
      await this.#documentOf(name)
        .remove()
        .catch((err) => this.#parts.log.error({ err }, 'a list of constituencies could not be removed'));
    }
  }
}

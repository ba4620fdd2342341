// The cached lists of constituencies, retained on the broker: in memory, on disk, and bounded in number.
import { saysTheSame } from '../../domain/constituency.ts';
import type { Message } from '../../mqtt/message.ts';
import {
  type ConstituenciesView,
  listMessage,
  listName,
  summaryMessage,
} from '../../publication/constituencies.ts';
import { constituenciesCodec } from '../../store/documents.ts';
import { type Document, owned } from '../../store/stateStore.ts';
import type { Context } from '../context.ts';

const FOLDER = 'constituencies';
const MOST_QUERIES = 50;
// Every house there is, each chamber as a whole, and room for houses to come.
const MOST_HOUSES = 100;

type Needs = Pick<Context, 'topics' | 'zone' | 'state' | 'log'>;

/** Each by the name of its question, which also is the end of its topic. */
export class CachedLists {
  readonly #owner: string;
  /** The name of the configured list, which is never dropped; `null`: its house is not known yet. */
  usual: string | null;
  readonly #needs: Needs;
  // Oldest first. Messages are written once: their payloads may be large, and are compared at each publication.
  readonly #lists = new Map<string, { readonly view: ConstituenciesView; readonly message: Message }>();

  /**
   * `owner`: the service that the lists come from; those of another one are ignored.
   */
  static async open(owner: string, usual: string | null, needs: Needs): Promise<CachedLists> {
    const lists = new CachedLists(owner, usual, needs);
    const files = await needs.state.list(FOLDER);
    const stored = await Promise.all(files.map((file) => lists.#document(file).read()));
    const views = stored.filter((view) => view !== null).sort((a, b) => a.fetchedAt - b.fetchedAt);
    for (const view of views) lists.#set(listName(view.question), view);
    return lists;
  }

  private constructor(owner: string, usual: string | null, needs: Needs) {
    this.#owner = owner;
    this.usual = usual;
    this.#needs = needs;
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
    const { topics, zone } = this.#needs;
    return [
      ...[...this.#lists.values()].map(({ message }) => message),
      summaryMessage(topics, zone, this.usual, this.usual === null ? null : this.get(this.usual)),
    ];
  }

  #document(name: string): Document<ConstituenciesView> {
    const file = `${FOLDER}/${name.replace('/', '-')}`;
    return owned(this.#needs.state.document(file, constituenciesCodec), this.#owner);
  }

  #set(name: string, view: ConstituenciesView): void {
    const { topics, zone } = this.#needs;
    this.#lists.delete(name);
    this.#lists.set(name, { view, message: listMessage(topics, zone, view) });
  }

  async #save(view: ConstituenciesView): Promise<void> {
    const name = listName(view.question);
    this.#set(name, view);
    await this.#document(name)
      .write(view)
      .catch((err) => this.#needs.log.error({ err }, 'a list of constituencies could not be saved'));
  }

  async #dropOldest(isQuery: boolean, most: number): Promise<void> {
    const names = [...this.#lists.keys()].filter(
      (name) => name.startsWith('query/') === isQuery && name !== this.usual,
    );
    for (const name of names.slice(0, Math.max(0, names.length - most))) {
      this.#lists.delete(name);
      await this.#document(name)
        .remove()
        .catch((err) => this.#needs.log.error({ err }, 'a list of constituencies could not be removed'));
    }
  }
}

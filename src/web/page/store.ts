// What the server has told: the newest document of each topic, log lines, and how the connection is.
import type { PayloadByTopic } from '../../publication/payloads/payloads.ts';

export type Info = PayloadByTopic['bridge/info'];
export type Health = PayloadByTopic['bridge/health'];
export type Usage = PayloadByTopic['meter/<meter>/usage/<interval>'];
export type History = PayloadByTopic['meter/<meter>/history'];
export type Invoices = PayloadByTopic['account/<account>/invoices'];
export type Constituencies = PayloadByTopic['constituencies/<chamber>/<house_no>'];
export type Summary = PayloadByTopic['bridge/constituencies'];
/** Of a meter or an account: keys and units are in docs/topics.md. */
export type State = Readonly<Record<string, unknown>>;
export type LogLine = { readonly time?: string; readonly level?: string; readonly message: string };
export type Answer = {
  readonly status: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string; readonly hint?: string };
};

const MOST_LINES = 200;
const RECONNECT_MS = 3_000;

export class Store {
  readonly #documents = new Map<string, unknown>();
  log: readonly LogLine[] = [];
  broker: 'connected' | 'disconnected' | 'none' | null = null;
  stream: 'opening' | 'open' | 'lost' = 'opening';
  /** All retained documents have come. */
  isReady = false;
  /** The newest event of a meter or an account. */
  event: { readonly topic: string; readonly payload: State } | null = null;
  #source: EventSource | null = null;
  #listener = () => {};
  #isDrawing = false;

  /** `onChange` is called at most once for each picture that is drawn. */
  listen(onChange: () => void) {
    this.#listener = onChange;
  }

  get<T>(topic: string): T | null {
    return (this.#documents.get(topic) as T | undefined) ?? null;
  }

  /** `onClosed`: the server has refused the stream, or is gone. */
  open(onClosed: () => void) {
    this.#source?.close();
    const source = new EventSource('events');
    this.#source = source;
    let told = new Set<string>();
    const on = (name: string, read: (data: never) => void) =>
      source.addEventListener(name, (event) => {
        read(JSON.parse((event as MessageEvent).data || 'null') as never);
        this.#changed();
      });
    source.onopen = () => {
      told = new Set();
      this.stream = 'open';
      this.log = [];
      this.#changed();
    };
    source.onerror = () => {
      this.stream = 'lost';
      this.#changed();
      if (source.readyState === EventSource.CLOSED) setTimeout(onClosed, RECONNECT_MS);
    };
    on('message', ({ topic, payload }: { topic: string; payload: unknown }) => {
      told.add(topic);
      if (topic.endsWith('/event')) this.event = { topic, payload: payload as State };
      else if (payload === null || payload === '') this.#documents.delete(topic);
      else this.#documents.set(topic, payload);
    });
    on('ready', () => {
      // What was cleared while nobody listened is not told again.
      for (const topic of this.#documents.keys()) if (!told.has(topic)) this.#documents.delete(topic);
      this.isReady = true;
    });
    on('log', (line: LogLine) => {
      this.log = [...this.log.slice(1 - MOST_LINES), line];
    });
    on('link', ({ broker }: { broker: Store['broker'] }) => {
      this.broker = broker;
    });
  }

  #changed() {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    requestAnimationFrame(() => {
      this.#isDrawing = false;
      this.#listener();
    });
  }
}

/** The page has one. */
export const store = new Store();

export const numberOf = (state: State | null, key: string): number | null =>
  typeof state?.[key] === 'number' ? state[key] : null;
export const textOf = (state: State | null, key: string): string | null =>
  typeof state?.[key] === 'string' ? state[key] : null;

/** Of a meter without any reading it is not known, and no amount either. */
export const currencyOf = (meter: string): string =>
  store.get<History>(`meter/${meter}/history`)?.currency ?? 'EUR';

/** The reply as JSON. Rejects with a sentence for the reader. */
export async function ask<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<T> {
  const headers = body === undefined ? {} : { 'content-type': 'application/json' };
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const response = await fetch(path, init).catch(() => {
    throw new Error('The bridge does not answer.');
  });
  const text = await response.text();
  let reply: { error?: { message?: string } } | null = null;
  try {
    reply = JSON.parse(text || 'null');
  } catch {
    // Something in between has answered, with a page of its own.
  }
  if (response.ok) return reply as T;
  // Without its hint: that sends the reader to this page, or to a command.
  throw new Error(reply?.error?.message ?? `The bridge answered with status ${response.status}.`);
}

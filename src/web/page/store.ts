// The newest document of each topic, log lines, and the state of the connection, as the server sends them; and the requests to it.
import type { PayloadByTopic } from '../../publication/payloads/payloads.ts';
import type { BrokerState, LogLine } from './answers.ts';
import { say } from './words.ts';

export type MeterInfo = PayloadByTopic['bridge/info']['meters'][number];
export type Health = PayloadByTopic['bridge/health'];
export type History = PayloadByTopic['meter/<meter>/history'];
export type Constituencies = PayloadByTopic['constituencies/<chamber>/<house_no>'];
/** The state of a meter or an account: keys and units are in docs/topics.md. */
export type State = Readonly<Record<string, unknown>>;

const MOST_LINES = 200;
const RECONNECT_MS = 3_000;

const documents = new Map<string, unknown>();
let source: EventSource | null = null;
let draw = () => {};
let frame = 0;

/** The page has one. */
export const store = {
  log: [] as readonly LogLine[],
  broker: null as BrokerState | null,
  stream: 'opening' as 'opening' | 'open' | 'lost',
  /** All retained documents have come. */
  isReady: false,
  /** The newest event of a meter or an account. */
  event: null as { readonly topic: string; readonly payload: State } | null,

  /** `names` stand in the places of `<meter>` and the like. */
  get<T extends keyof PayloadByTopic>(topic: T, ...names: readonly string[]): PayloadByTopic[T] | null {
    const name = names.reduce((path: string, part) => path.replace(/<\w+>/, () => part), topic);
    return (documents.get(name) as PayloadByTopic[T] | undefined) ?? null;
  },
  below: <T>(topic: string): readonly T[] =>
    [...documents].flatMap(([name, document]) => (name.startsWith(topic) ? [document as T] : [])),

  /** `onChange` is called at most once for each picture that is drawn. */
  listen(onChange: () => void) {
    draw = onChange;
  },

  /** `onClosed`: the server has refused the stream, or is gone. */
  open(onClosed: () => void) {
    source?.close();
    const opened = new EventSource('events');
    source = opened;
    let sent = new Set<string>();
    const on = <T>(name: string, read: (data: T) => void) =>
      opened.addEventListener(name, (event) => {
        read(JSON.parse((event as MessageEvent).data || 'null'));
        changed();
      });
    on('open', () => {
      sent = new Set();
      store.stream = 'open';
      store.log = [];
    });
    on('error', () => {
      store.stream = 'lost';
      if (opened.readyState === EventSource.CLOSED) setTimeout(onClosed, RECONNECT_MS);
    });
    on('message', ({ topic, payload }: { topic: string; payload: State | null }) => {
      sent.add(topic);
      if (payload === null) documents.delete(topic);
      else if (topic.endsWith('/event')) store.event = { topic, payload };
      else documents.set(topic, payload);
    });
    on('ready', () => {
      // Documents that were cleared while the connection was lost are not sent again.
      for (const topic of documents.keys()) if (!sent.has(topic)) documents.delete(topic);
      store.isReady = true;
    });
    on('log', (line: LogLine) => {
      store.log = [...store.log.slice(1 - MOST_LINES), line];
    });
    on('link', ({ broker }: { broker: BrokerState }) => {
      store.broker = broker;
    });
  },
};

function changed() {
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(draw);
}

export const numberOf = (state: State | null, key: string): number | null =>
  typeof state?.[key] === 'number' ? state[key] : null;
export const textOf = (state: State | null, key: string): string | null =>
  typeof state?.[key] === 'string' ? state[key] : null;

export const nameOf = ({ name, meter }: MeterInfo): string => name || say('meter.name', { meter });

/** `2026-11-21`, there where the meters are. */
export const today = (): string =>
  new Date().toLocaleDateString('sv', { timeZone: store.get('bridge/info')?.timezone ?? 'UTC' });

/** The reply as JSON. Rejects with a sentence for the reader. */
export async function ask<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Promise<T> {
  const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
  const response = await fetch(path, init).catch(() => {
    throw new Error(say('trouble.silent'));
  });
  // Something in between may have answered, with a page of its own.
  const reply = await response.json().catch(() => null);
  if (response.ok) return reply;
  // The hint is left out: it sends the reader to this page, or to a command.
  throw new Error(reply?.error?.message ?? say('trouble.status', { status: response.status }));
}

// GET /events: what is retained on MQTT as it stands, then what changes, with the newest lines of the log.
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type Clock, deadline } from '../foundation/clock.ts';
import type { LogTail } from '../foundation/log.ts';

/** Without the base topic. An empty payload: the topic was cleared. */
export interface Document {
  readonly topic: string;
  readonly payload: string;
}

export interface Follower {
  /** Some documents that have changed since the last call, all of them at first; `null` when there are no more. */
  take(): readonly Document[] | null;
  stop(): void;
}

export type BrokerState = 'connected' | 'disconnected' | 'none';

export interface DocumentSource {
  follow(on: {
    /** `take()` may have something. */
    readonly changed: () => void;
    /** What is not retained. */
    readonly event: (event: Document) => void;
    readonly broker: (state: BrokerState) => void;
  }): Follower;
  broker(): BrokerState;
}

const MOST_STREAMS = 24;
const KEEP_ALIVE_MS = 20_000;
// Several changes of one moment are one look.
const PAUSE_MS = 100;
// A reader who takes nothing for so long is cut off, and one who lets so many events and lines gather.
const SLOW_MS = 20_000;
const MOST_PENDING = 1_000;

const written = (event: string, data: string): string => `event: ${event}\ndata: ${data}\n\n`;

export class EventStreams {
  readonly #source: DocumentSource;
  readonly #logTail: LogTail;
  readonly #clock: Clock;
  // The oldest first.
  readonly #open = new Set<ServerResponse>();

  constructor(source: DocumentSource, logTail: LogTail, clock: Clock) {
    this.#source = source;
    this.#logTail = logTail;
    this.#clock = clock;
  }

  /**
   * Resolves when the reader is gone, who has to leave at `ending`. `mayStay` is asked now and then: a session
   * grows too old.
   */
  async serve(
    outgoing: ServerResponse,
    mayStay: () => Promise<boolean>,
    ending: AbortSignal | undefined,
  ): Promise<void> {
    const gone = new AbortController();
    let waking = new AbortController();
    const pending: string[] = [];
    const wake = () => waking.abort();
    const put = (event: string, data: string) => {
      pending.push(written(event, data));
      if (pending.length > MOST_PENDING) outgoing.destroy();
      wake();
    };
    const over = () => {
      gone.abort();
      wake();
    };
    const leave = () => {
      outgoing.end();
      over();
    };
    outgoing.once('close', () => {
      ending?.removeEventListener('abort', leave);
      over();
    });
    ending?.addEventListener('abort', leave);
    const follower = this.#source.follow({
      changed: wake,
      event: (document) => put('message', messageOf(document)),
      broker: (broker) => put('link', JSON.stringify({ broker })),
    });
    const stopLines = this.#logTail.follow((line) => put('log', logLine(line)));
    const send = (text: string) => this.#send(text, outgoing, gone.signal);
    const [oldest] = this.#open;
    this.#open.add(outgoing);
    if (oldest !== undefined && this.#open.size > MOST_STREAMS) {
      this.#open.delete(oldest);
      oldest.destroy();
    }
    try {
      for (const line of this.#logTail.lines) put('log', logLine(line));
      put('link', JSON.stringify({ broker: this.#source.broker() }));
      let askedAt = this.#clock.monotonic();
      for (let isFirst = true; !gone.signal.aborted; isFirst = false) {
        waking = new AbortController();
        for (let some = follower.take(); some !== null && !gone.signal.aborted; some = follower.take())
          for (const document of some) await send(written('message', messageOf(document)));
        for (const text of pending.splice(0)) await send(text);
        if (isFirst) await send(written('ready', '{}'));
        const untilAsked = askedAt + KEEP_ALIVE_MS - this.#clock.monotonic();
        if (!waking.signal.aborted) await this.#clock.sleep(untilAsked, waking.signal);
        if (waking.signal.aborted) await this.#clock.sleep(PAUSE_MS, gone.signal);
        if (this.#clock.monotonic() - askedAt < KEEP_ALIVE_MS) continue;
        askedAt = this.#clock.monotonic();
        if (await mayStay()) await send(': still here\n\n');
        else leave();
      }
    } finally {
      this.#open.delete(outgoing);
      stopLines();
      follower.stop();
    }
  }

  async #send(text: string, outgoing: ServerResponse, gone: AbortSignal): Promise<void> {
    if (gone.aborted || outgoing.write(text)) return;
    const late = deadline(this.#clock, SLOW_MS, gone);
    await once(outgoing, 'drain', { signal: late.signal }).catch(() => outgoing.destroy());
    late.clear();
  }
}

function messageOf({ topic, payload }: Document): string {
  // The only one that is not JSON.
  const value = topic === 'bridge/state' ? JSON.stringify(payload) : payload;
  return `{"topic":${JSON.stringify(topic)},"payload":${payload === '' ? 'null' : value}}`;
}

function fieldsOf(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line);
  } catch {
    return { msg: line };
  }
}

/** From a line of the log, whose other fields follow its sentence. */
function logLine(line: string): string {
  const { time, level, msg, err, ...more } = fieldsOf(line);
  const fault = err as { message?: string; hint?: string } | undefined;
  const fields = Object.entries(more).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const message = [msg, fault?.message, fault?.hint, fields.join(' ')].filter(Boolean).join(' · ');
  return JSON.stringify({ time, level, message });
}

// GET /events: what is retained on MQTT as it stands, then what changes, with the newest lines of the log.
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Clock } from '../foundation/clock.ts';
import type { LogTail } from '../foundation/log.ts';
import type { BrokerState, LogLine } from './page/answers.ts';

/** The topic lacks the base topic. An empty payload: the topic was cleared. */
export interface Document {
  readonly topic: string;
  readonly payload: string;
}

export interface Listener {
  /** `take()` may have something. */
  readonly changed: () => void;
  /** Messages that are not retained. */
  readonly event: (event: Document) => void;
  /** It hears the state at once, and each change. */
  readonly broker: (state: BrokerState) => void;
}

interface Follower {
  /** Some documents that have changed since the last call, all of them at first; `null` when there are no more. */
  take(): readonly Document[] | null;
  stop(): void;
}

export type DocumentSource = (on: Listener) => Follower;

const MOST_STREAMS = 24;
const KEEP_ALIVE_MS = 20_000;
// Several changes of one moment are one look.
const PAUSE_MS = 100;
// A reader for whom so much gathers is cut off: some of the largest documents. One who takes nothing is for the server to notice.
const MOST_UNREAD_BYTES = 8_000_000;

export function createStreams(follow: DocumentSource, logTail: LogTail, clock: Clock) {
  // The oldest first.
  const open = new Set<ServerResponse>();

  /** Resolves when the reader is gone, who has to leave at `ending`. `mayStay` is asked now and then: a session grows too old. */
  return async function serve(
    outgoing: ServerResponse,
    mayStay: () => Promise<boolean>,
    ending: AbortSignal | undefined,
  ): Promise<void> {
    const stream = new Stream(outgoing, ending);
    const putLine = (line: string) => stream.put('log', logLine(line));
    logTail.lines.forEach(putLine);
    const stopLines = logTail.follow(putLine);
    const follower = follow({
      changed: () => stream.wake(),
      event: (document) => stream.put('message', messageOf(document)),
      broker: (broker) => stream.put('link', JSON.stringify({ broker })),
    });
    open.add(outgoing);
    const [oldest] = open;
    if (open.size > MOST_STREAMS) oldest?.destroy();
    try {
      await stream.sendNews(follower);
      await stream.send('ready', '{}');
      let askedAt = clock.monotonic();
      while (!stream.isGone) {
        const leftMs = askedAt + KEEP_ALIVE_MS - clock.monotonic();
        if (leftMs <= 0) {
          askedAt = clock.monotonic();
          if (!(await mayStay())) break;
          outgoing.write(': still here\n\n');
        }
        await stream.awaitNews(leftMs, clock);
        await stream.sendNews(follower);
      }
    } finally {
      stream.leave();
      open.delete(outgoing);
      stopLines();
      follower.stop();
      outgoing.end();
    }
  };
}

/** The way to one reader. */
class Stream {
  readonly #outgoing: ServerResponse;
  readonly #gone = new AbortController();
  #waking = new AbortController();

  constructor(outgoing: ServerResponse, ending: AbortSignal | undefined) {
    this.#outgoing = outgoing;
    const leave = () => this.leave();
    // The reader may have left while the password was read.
    if (outgoing.destroyed) leave();
    outgoing.once('close', leave);
    ending?.addEventListener('abort', leave, { signal: this.#gone.signal });
  }

  get isGone(): boolean {
    return this.#gone.signal.aborted;
  }

  leave(): void {
    this.#gone.abort();
    this.wake();
  }

  /** There may be something to send. */
  wake(): void {
    this.#waking.abort();
  }

  /** The event goes out at once, between two documents. False: the reader has no room for more. */
  put(event: string, data: string): boolean {
    const hasRoom = this.#outgoing.write(`event: ${event}\ndata: ${data}\n\n`);
    if (this.#outgoing.writableLength > MOST_UNREAD_BYTES) this.#outgoing.destroy();
    return hasRoom;
  }

  /** Resolves once the reader has room for more, or is gone. */
  async send(event: string, data: string): Promise<void> {
    if (this.isGone || this.put(event, data)) return;
    await once(this.#outgoing, 'drain', { signal: this.#gone.signal }).catch(() => undefined);
  }

  async sendNews(follower: Follower): Promise<void> {
    for (let news = follower.take(); news !== null && !this.isGone; news = follower.take())
      for (const document of news) await this.send('message', messageOf(document));
  }

  /** Resolves a moment after the stream was woken, or after `longestMs`. */
  async awaitNews(longestMs: number, clock: Clock): Promise<void> {
    const { signal } = this.#waking;
    if (!signal.aborted) await clock.sleep(longestMs, signal);
    if (signal.aborted) await clock.sleep(PAUSE_MS, this.#gone.signal);
    this.#waking = new AbortController();
  }
}

function messageOf({ topic, payload }: Document): string {
  // The text of bridge/state alone is not JSON.
  const value = payload !== '' && topic === 'bridge/state' ? JSON.stringify(payload) : payload;
  return `{"topic":${JSON.stringify(topic)},"payload":${value || 'null'}}`;
}

/** A line of the log is its sentence, and the other fields follow. */
function logLine(line: string): string {
  let fields: Record<string, unknown> = { msg: line };
  try {
    fields = JSON.parse(line);
  } catch {
    // A line that is not JSON is shown as it is.
  }
  const { time, level, msg, err, ...others } = fields;
  const { type, message = type, hint } = (err ?? {}) as { type?: string; message?: string; hint?: string };
  const more = Object.entries(others).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const sentence = [msg, message, hint, more.join(' ')].filter(Boolean).join(' · ');
  return JSON.stringify({ time, level, message: sentence } as LogLine);
}

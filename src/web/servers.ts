// Servers that are kept listening. One that cannot listen is tried again each minute: its port may be taken by something that ends.
import type { Reason } from '../domain/health.ts';
import type { Clock } from '../foundation/clock.ts';
import { safeWords } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import type { Listening } from './server.ts';

const OPEN_AGAIN_MS = 60_000;

interface ServersOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Called when a reason goes. */
  readonly onChange?: () => void;
}

export class Servers {
  readonly #opened: Listening[] = [];
  readonly #reasons: Reason[];
  readonly #options: ServersOptions;
  readonly #stopping = new AbortController();

  /** `reasons`: gets one for each that cannot listen, until it does. */
  constructor(reasons: Reason[], options: ServersOptions) {
    this.#reasons = reasons;
    this.#options = options;
  }

  /** Resolves after the first try. Never rejects. */
  async open(trouble: string, serve: () => Promise<Listening>): Promise<void> {
    try {
      this.#opened.push(await serve());
    } catch (err) {
      this.#options.log.error({ err }, `no HTTP: ${trouble}`);
      const reason = safeWords(err);
      this.#reasons.push(reason);
      void this.#openLater(serve, reason);
    }
  }

  async #openLater(serve: () => Promise<Listening>, reason: Reason): Promise<void> {
    const { clock, onChange } = this.#options;
    const { signal } = this.#stopping;
    let server: Listening | null = null;
    while (server === null) {
      await clock.sleep(OPEN_AGAIN_MS, signal);
      if (signal.aborted) return;
      server = await serve().catch(() => null);
    }
    if (signal.aborted) return server.stop();
    this.#opened.push(server);
    this.#reasons.splice(this.#reasons.indexOf(reason), 1);
    onChange?.();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#opened.map((server) => server.stop()));
  }
}

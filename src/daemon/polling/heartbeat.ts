// Every five seconds: retries that are due, secrets that have changed, and what changes with the time of day.
import { needsAPerson } from '../../domain/health.ts';
import type { Account } from '../accounts/account.ts';
import type { Context } from '../context.ts';
import type { Poller } from './poller.ts';

const BEAT_MS = 5_000;
// Midnight, a reading growing late, requests_today: all may change without a poll.
const REPUBLISH_EVERY_MS = 5 * 60_000;

export class Heartbeat {
  readonly #accounts: readonly Account[];
  readonly #poller: Poller;
  readonly #context: Context;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  #lastBeatAt: number;
  #lastRepublishAt: number;
  #wasWritable = true;

  constructor(accounts: readonly Account[], poller: Poller, context: Context) {
    this.#accounts = accounts;
    this.#poller = poller;
    this.#context = context;
    this.#lastBeatAt = context.clock.monotonic();
    this.#lastRepublishAt = this.#lastBeatAt;
    this.#running = this.#run();
  }

  /** Milliseconds since the last beat: proof that the event loop is alive. */
  get ageMs(): number {
    return this.#context.clock.monotonic() - this.#lastBeatAt;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, log } = this.#context;
    while (!this.#stopping.signal.aborted) {
      await clock.sleep(BEAT_MS, this.#stopping.signal);
      this.#lastBeatAt = clock.monotonic();
      // One that fails does not keep the others from their turn. None waits for a poll: a first history takes minutes.
      for (const step of [this.#retryState, this.#pollAgain, this.#republish]) {
        if (this.#stopping.signal.aborted) return;
        await step.call(this).catch((err) => log.error({ err }, 'heartbeat fault'));
      }
    }
  }

  /** A disk that was full may have space again. */
  async #retryState(): Promise<void> {
    const { state, log } = this.#context;
    await state.retry();
    const isWritable = state.fault === null;
    if (isWritable === this.#wasWritable) return;
    this.#wasWritable = isWritable;
    if (isWritable) log.info('the state directory can be written again');
    this.#publishAll();
  }

  async #pollAgain(): Promise<void> {
    if (this.#poller.isPolling) return;
    this.#poller.retry();
    if (this.#poller.isPolling || !(await this.#someSecretChanged())) return;
    this.#context.log.info('trying a suspended login again: the secret has changed');
    void this.#poller.poll();
  }

  /** A login that was suspended and would be tried now. */
  async #someSecretChanged(): Promise<boolean> {
    for (const { upstream } of this.#accounts) {
      const { state, nextAttemptAt } = upstream.session.status();
      if (!needsAPerson(state) || (nextAttemptAt !== null && nextAttemptAt <= this.#context.clock.now()))
        continue;
      if ((await upstream.login.suspendedBy()) === null) return true;
    }
    return false;
  }

  async #republish(): Promise<void> {
    const now = this.#context.clock.monotonic();
    if (now - this.#lastRepublishAt < REPUBLISH_EVERY_MS) return;
    this.#lastRepublishAt = now;
    this.#publishAll();
  }

  #publishAll(): void {
    const { signals } = this.#context;
    signals.emit('bridgeChanged');
    for (const { id } of this.#accounts) signals.emit('accountChanged', id);
  }
}

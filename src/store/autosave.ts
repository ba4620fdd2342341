// Writes a document soon after what it is written from has changed; many changes in a row share one write.
import type { Clock } from '../foundation/clock.ts';
import { SingleFlight, Throttle } from '../foundation/limits.ts';

export class Autosave {
  readonly #write: () => Promise<void>;
  readonly #clock: Clock;
  readonly #throttle: Throttle;
  readonly #flight = new SingleFlight<void>();
  #isChanged = false;
  #cancelWait: (() => void) | null = null;

  /** `write` never rejects. */
  constructor(write: () => Promise<void>, clock: Clock) {
    this.#write = write;
    this.#clock = clock;
    this.#throttle = new Throttle(clock);
  }

  changed(): void {
    this.#isChanged = true;
    this.#plan();
  }

  /** Resolves once every change so far has been written. */
  async saved(): Promise<void> {
    while (this.#isChanged || this.#flight.current !== null) {
      this.#cancelWait?.();
      this.#cancelWait = null;
      await this.#writeOnce();
    }
  }

  #plan(): void {
    if (this.#flight.current !== null || this.#cancelWait !== null || !this.#isChanged) return;
    const restMs = this.#throttle.restMs();
    if (restMs <= 0) {
      void this.#writeOnce().finally(() => this.#plan());
      return;
    }
    this.#cancelWait = this.#clock.after(restMs, () => {
      this.#cancelWait = null;
      this.#plan();
    });
  }

  #writeOnce(): Promise<void> {
    return this.#flight.run(async () => {
      this.#isChanged = false;
      const end = this.#throttle.begin();
      await this.#write();
      end();
    });
  }
}

// The sitting house of a chamber: the one with the highest number, asked of the public list and remembered for a day.
import type { Chamber } from '../../domain/constituency.ts';
import { SingleFlight } from '../../foundation/limits.ts';
import { sittingHouseCodec } from '../../store/documents.ts';
import { type Document, owned } from '../../store/stateStore.ts';
import type { Context } from '../context.ts';

const DAY_MS = 24 * 3_600_000;

interface Sitting {
  readonly chamber: Chamber;
  readonly houseNo: number;
  /** Epoch milliseconds. */
  readonly askedAt: number;
}

export class SittingHouse {
  readonly #chamber: Chamber;
  readonly #ask: () => Promise<number | null>;
  readonly #document: Document<Sitting>;
  readonly #context: Pick<Context, 'clock' | 'log'>;
  readonly #asking = new SingleFlight<number | null>();
  #known: Sitting | null;

  /** `owner`: the service that is asked. `ask` resolves to `null` when the reply tells no number. */
  static async open(
    chamber: Chamber,
    owner: string,
    ask: () => Promise<number | null>,
    context: Pick<Context, 'clock' | 'log' | 'state'>,
  ): Promise<SittingHouse> {
    const document = owned(context.state.document('sitting-house', sittingHouseCodec), owner);
    const known = await document.read();
    return new SittingHouse(chamber, ask, document, known?.chamber === chamber ? known : null, context);
  }

  private constructor(
    chamber: Chamber,
    ask: () => Promise<number | null>,
    document: Document<Sitting>,
    known: Sitting | null,
    context: Pick<Context, 'clock' | 'log'>,
  ) {
    this.#chamber = chamber;
    this.#ask = ask;
    this.#document = document;
    this.#known = known;
    this.#context = context;
  }

  /** As it was told last; `null`: never yet. */
  get known(): number | null {
    return this.#known?.houseNo ?? null;
  }

  /** Asked again after a day. Rejects only while none is known. */
  houseNo(): Promise<number | null> {
    const age = this.#known === null ? DAY_MS : Math.abs(this.#context.clock.now() - this.#known.askedAt);
    return age < DAY_MS ? Promise.resolve(this.known) : this.#asking.run(() => this.#askAnew());
  }

  async #askAnew(): Promise<number | null> {
    const { clock, log } = this.#context;
    try {
      const houseNo = await this.#ask();
      if (houseNo === null) return this.known;
      this.#known = { chamber: this.#chamber, houseNo, askedAt: clock.now() };
      await this.#document
        .write(this.#known)
        .catch((err) => log.error({ err }, 'the number of the sitting house could not be saved'));
      return houseNo;
    } catch (err) {
      // The question that follows meets the same trouble, and tells it.
      if (this.#known === null) throw err;
      return this.known;
    }
  }
}

// Home Assistant's status topic: when it has started, it wants to be told everything again.
import type { Incoming } from '../../mqtt/message.ts';
import type { Context } from '../context.ts';

const LONGEST_WAIT_MS = 2_000;

export class HomeAssistantStatus {
  /** `null` without discovery. */
  readonly topic: string | null;
  readonly #onOnline: () => void;
  readonly #context: Pick<Context, 'clock' | 'random'>;

  constructor(onOnline: () => void, context: Pick<Context, 'config' | 'clock' | 'random'>) {
    const { discovery_prefix: prefix } = context.config.mqtt;
    this.topic = prefix === false ? null : `${prefix}/status`;
    this.#onOnline = onOnline;
    this.#context = context;
  }

  async receive({ retained, payload }: Incoming): Promise<void> {
    if (retained || payload.toString('utf8') !== 'online') return;
    const { clock, random } = this.#context;
    // It is told everything by all its bridges at this moment: not by all at once.
    await clock.sleep(random() * LONGEST_WAIT_MS);
    this.#onOnline();
  }
}

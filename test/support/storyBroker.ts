// The broker of a story: it can be stopped, and comes back on the same port remembering nothing. Somebody always listens.
import { type EmbeddedBroker, startBroker } from '../../src/mqtt/broker.ts';
import { type Probe, startProbe } from './probe.ts';
import { untilAtRest } from './rest.ts';
import type { Stack } from './stack.ts';

export class StoryBroker {
  readonly #stack: Stack;
  readonly #probes: Probe[] = [];
  #broker: EmbeddedBroker;
  /**
   * No message goes unchecked, and none is remembered: a year of them would fill the memory. `null` where a probe of the test checks
   * them, since hearing everything twice is a twentieth of a story's time.
   */
  #ear: Probe | null;
  isUp = true;

  private constructor(stack: Stack, broker: EmbeddedBroker, ear: Probe) {
    this.#stack = stack;
    this.#broker = broker;
    this.#ear = ear;
    stack.defer(() => this.#broker.stop());
  }

  static async start(stack: Stack): Promise<StoryBroker> {
    const broker = await startBroker();
    return new StoryBroker(stack, broker, await earAt(broker, stack));
  }

  get url(): string {
    return this.#broker.url;
  }

  /** A subscriber to everything. */
  async listen(): Promise<Probe> {
    const probe = await earAt(this.#broker, this.#stack);
    this.#probes.push(probe);
    await this.#ear?.stop();
    this.#ear = null;
    return probe;
  }

  heard(): string[] {
    return this.#probes.flatMap(({ heard }) => heard.flatMap(({ topic, payload }) => [topic, payload]));
  }

  async stop(): Promise<void> {
    this.isUp = false;
    await this.#broker.stop();
  }

  async restart(): Promise<void> {
    if (this.isUp) await this.stop();
    this.#broker = await startBroker({ port: this.#broker.port });
    this.#ear = await earAt(this.#broker, this.#stack);
    this.isUp = true;
  }

  /** Everything under way in this process has come to rest. */
  async rest(): Promise<void> {
    await untilAtRest();
    this.#ear?.forget();
  }
}

const earAt = async (broker: EmbeddedBroker, stack: Stack): Promise<Probe> =>
  stack.use(await startProbe(broker.url, {}, untilAtRest));

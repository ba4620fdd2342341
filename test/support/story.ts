// The whole daemon in this process, between a simulated provider and a real broker, under a clock moved by hand.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/load.ts';
import { type Daemon, startDaemon } from '../../src/daemon/daemon.ts';
import { nextTimes } from '../../src/engine/schedule.ts';
import type { Clock } from '../../src/foundation/clock.ts';
import { createLog, createScrubber, LogTail } from '../../src/foundation/log.ts';
import type { OpenProvider } from '../../src/provider/provider.ts';
import type { AccountOptions } from '../../src/simulator/accounts.ts';
import { startSimulator } from '../../src/simulator/provider.ts';
import { pathsBelow } from '../../src/store/privateFiles.ts';
import type { Ingress } from '../../src/web/server.ts';
import { noteSecrets, PERSONAL_CLAIMS } from './canaries.ts';
import { type HandClock, handClock } from './clock.ts';
import { ME, STATE } from './homes.ts';
import type { Probe } from './probe.ts';
import { untilTrue } from './rest.ts';
import { openStack, type Stack } from './stack.ts';
import { StoryBroker } from './storyBroker.ts';
import { StoryLog } from './storyLog.ts';
import { laidOver, usualConfig } from './storyRules.ts';
import { CHEAP_SCRYPT_COST, type Typist, typed } from './typed.ts';
import { waitFor } from './waitFor.ts';

export interface StoryOptions {
  /** Wall clock at the start. */
  readonly at?: string;
  /** Who lives at the provider, and in the configuration; default: ME. */
  readonly accounts?: readonly AccountOptions[];
  /** What the daemon's own clock shows, where it differs from the provider's. */
  readonly daemonClock?: (clock: HandClock) => Clock;
  /** Reads the accounts in place of the usual provider. */
  readonly openProvider?: OpenProvider;
  /** Of the simulated provider; default: any. */
  readonly port?: number;
  /** Marks of passwords cost what they cost a household; default: next to nothing. */
  readonly hasRealMarks?: boolean;
}

/** `null`: the same test has it, in another checkout on this machine. */
function unlessTaken(err: NodeJS.ErrnoException): null {
  if (err.code !== 'EADDRINUSE') throw err;
  return null;
}

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
const STEP_MS = 4 * HOUR_MS;
const LOOK_MS = 1_000;
const OPENING_STEP_MS = 20;
const LONGEST_OPENING_MS = 3_000;
// Longer than what a new ledger waits for its history on the broker.
const LOOK_FOR_HISTORY_MS = 1_000;
const LOOK_STEP_MS = 50;
// In real time: the loading of a module, or a computation of another thread, looks like rest.
const LONGEST_UNSEEN_MS = 500;

type Over = Readonly<Record<string, unknown>>;

export async function openStory(options: StoryOptions = {}): Promise<Story> {
  const { at = '2025-03-10T12:00:00Z', accounts = [ME], port = 0 } = options;
  const stack = openStack();
  const clock = handClock(at);
  const stateDir = await stack.folder();
  const secrets = noteSecrets(accounts);
  const start = () => startSimulator({ clock, accounts, port, onReply: secrets.onReply });
  const simulator = stack.use(
    await waitFor('its port', () => start().catch(unlessTaken), { timeoutMs: 60_000 }),
  );
  Object.assign(simulator.switches.token.claims, PERSONAL_CLAIMS);
  const broker = await StoryBroker.start(stack);
  return new Story({ stack, clock, stateDir, secrets, simulator, broker, accounts, options });
}

interface StoryParts {
  readonly stack: Stack;
  readonly clock: HandClock;
  readonly stateDir: string;
  readonly secrets: ReturnType<typeof noteSecrets>;
  readonly simulator: Awaited<ReturnType<typeof startSimulator>>;
  readonly accounts: readonly AccountOptions[];
  readonly broker: StoryBroker;
  readonly options: StoryOptions;
}

export class Story {
  readonly stack: Stack;
  readonly clock: HandClock;
  readonly stateDir: string;
  readonly secrets: StoryParts['secrets'];
  readonly simulator: StoryParts['simulator'];
  readonly accounts: readonly AccountOptions[];
  readonly broker: StoryBroker;
  readonly #options: StoryOptions;
  readonly #log = new StoryLog();
  readonly #more: string[] = [];
  /** Times of the schedule beside the usual ones. */
  readonly #ticks: number[] = [];
  readonly #stopped = new WeakSet<Daemon>();

  constructor(parts: StoryParts) {
    const { stack, clock, stateDir, secrets, simulator, accounts, broker, options } = parts;
    this.stack = stack;
    this.clock = clock;
    this.stateDir = stateDir;
    this.secrets = secrets;
    this.simulator = simulator;
    this.accounts = accounts;
    this.broker = broker;
    this.#options = options;
    stack.defer(() => secrets.expectSilence([...this.#log.lines, ...this.#more, ...broker.heard()]));
  }

  /** What else the program has said: it is searched for secrets when the story ends, as topics and log are. */
  alsoSaid(...texts: readonly string[]): void {
    this.#more.push(...texts);
  }

  /** The lines of the log, parsed. */
  get log() {
    return this.#log.parsed;
  }

  /** The lines with this message. */
  logged(message: string) {
    return this.log.filter(({ msg }) => msg === message);
  }

  forgetLog(): void {
    this.#log.lines.splice(0);
  }

  /** What stands in the state directory, file by file. */
  async stateFiles(): Promise<string[]> {
    const names = await pathsBelow(this.stateDir);
    const files = names.filter((name) => name.endsWith('.json'));
    return Promise.all(files.map((name) => readFile(join(this.stateDir, name), 'utf8')));
  }

  /** A subscriber to everything. */
  listen(): Promise<Probe> {
    return this.broker.listen();
  }

  /** The usual configuration with `over` laid over it, section by section. */
  #configured(over: Over): string {
    const { urls } = this.simulator;
    const usual = usualConfig(urls, this.accounts, this.broker.url, this.stateDir);
    // Whoever wants constituencies gets those of the simulator, never those of the Internet.
    const constituencies = over.constituencies && { base_url: urls.constituencies };
    return JSON.stringify(laidOver({ ...usual, constituencies }, over));
  }

  /** The same in a file. */
  configuredAt(over: Over = {}): Promise<string> {
    return this.#written(this.#configured(over));
  }

  async #written(config: string): Promise<string> {
    const path = join(await this.stack.folder(), 'config.yaml');
    await writeFile(path, config);
    return path;
  }

  /** Starts the daemon with the usual configuration and `over`. */
  async start(over: Over = {}, ingress: Ingress | null = null): Promise<Daemon> {
    const { daemonClock = (clock) => clock, openProvider, hasRealMarks = false } = this.#options;
    const scrubber = createScrubber();
    const text = this.#configured(over);
    const { config } = await loadConfig({
      path: 'story',
      readFile: async (path) => (path === 'story' ? text : readFile(path)),
      env: {},
      now: this.clock.now,
      scrubber,
      nextTimes,
    });
    const logTail = new LogTail();
    const write = (line: string) => void this.#log.lines.push(line);
    const before = this.#log.connections;
    const daemon = await startDaemon({
      config,
      clock: daemonClock(this.clock),
      log: createLog({ level: 'trace', scrubber, write, tail: logTail }),
      logTail,
      report: async ({ state }) => `the report of a daemon whose health is ${state}\n`,
      ingress,
      scrubber,
      random: () => 0.5,
      nextTick: (now) => this.#nextTick(now),
      ...(hasRealMarks ? {} : { scryptCost: CHEAP_SCRYPT_COST }),
      ...(openProvider ? { openProvider } : {}),
    });
    this.stack.defer(() => this.stop(daemon));
    if (!this.broker.isUp || daemon.brokerUrl !== this.broker.url) return daemon;
    const polls = this.#log.ended;
    // Reading back what the broker remembers takes its time on the clock.
    await this.#goOn(OPENING_STEP_MS, LONGEST_OPENING_MS, () => this.#log.connections > before);
    await this.#goOnUntilEnded(polls + this.accounts.length);
    return daemon;
  }

  #nextTick(now: number) {
    const usual = Math.floor(now / STEP_MS + 1) * STEP_MS;
    return { at: Math.min(usual, ...this.#ticks.filter((tick) => tick > now)), stepMs: STEP_MS };
  }

  /** Lets so much time pass at most. */
  async #goOn(stepMs: number, longestMs: number, isThere: () => boolean): Promise<void> {
    await this.rest();
    for (let passed = 0; passed < longestMs && !isThere(); passed += stepMs) {
      this.clock.advance(stepMs);
      await this.rest();
    }
  }

  /** A meter that is new asks the broker for its history, which takes time on the clock. */
  #goOnUntilEnded(polls: number): Promise<void> {
    const longest = LOOK_FOR_HISTORY_MS * this.accounts.length;
    return this.#goOn(LOOK_STEP_MS, longest, () => this.#log.ended >= polls);
  }

  /** Stops the daemon, and tells how many milliseconds of the clock that took at most. */
  async stop(daemon: Daemon): Promise<number> {
    if (this.#stopped.has(daemon)) return 0;
    this.#stopped.add(daemon);
    const began = this.clock.now();
    await this.passing(daemon.stop());
    return this.clock.now() - began;
  }

  /**
   * What a person types beside the daemon: with the usual configuration and `over`, or with that text. It may show a link to sign in, and
   * no secret.
   */
  async type(words: string, over: Over | string = {}, given: Typist = {}) {
    const path = await this.#written(typeof over === 'string' ? over : this.#configured(over));
    const line = [...words.split(' '), '--config', path];
    const io = { clock: this.clock, isInteractive: given.ask !== undefined, ...given };
    const printed = await this.passing(typed(line, io));
    this.secrets.expectLinkOnly([printed.out, printed.err]);
    return printed;
  }

  /** Everything under way in this process has come to rest. */
  rest(): Promise<void> {
    return this.broker.rest();
  }

  /** Lets time pass, in steps that wake a sleeper; whatever a step sets going comes to rest before the next. */
  async pass(ms: number, stepMs = 1_000): Promise<void> {
    await this.rest();
    for (let left = ms; left > 0; ) {
      const step = Math.min(left, Math.max(stepMs, this.clock.untilNext));
      this.clock.advance(step);
      await this.rest();
      left -= step;
    }
  }

  /** Lets time pass until it settles. */
  async passing<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const end = () => {
      isOver = true;
    };
    work.then(end, end);
    while (!isOver) {
      await this.rest();
      if (!isOver) this.clock.advance(50);
    }
    return work;
  }

  /** The schedule fires, for a daemon that looks at it every second. */
  async tick(): Promise<void> {
    this.#ticks.push(this.clock.now() + LOOK_MS + 1);
    await this.rest();
    this.clock.advance(LOOK_MS);
    await this.rest();
    this.clock.advance(LOOK_MS + 1);
  }

  /** Waits until so many polls of an account have ended, well or badly, since the story was opened; extras too. */
  async polled(times: number): Promise<void> {
    const diagnose = () => this.#log.lines.slice(-5);
    const began = performance.now();
    const isThrough = (): boolean => {
      const isOver = this.#log.isThrough(times);
      // It has begun to ask for its history after the time for that had passed.
      if (!isOver && performance.now() - began > LONGEST_UNSEEN_MS) this.clock.advance(LOOK_STEP_MS);
      return isOver;
    };
    await untilTrue(`the end of poll ${times}`, isThrough, { diagnose });
    await this.rest();
  }

  /** Time passes at once, the schedule fires, and the poll of each account has ended. */
  async nextPoll(afterMs = 0): Promise<void> {
    const polls = this.#log.ended + this.accounts.length;
    const { at } = this.#nextTick(this.clock.now());
    this.clock.advance(afterMs);
    if (this.clock.now() < at) await this.tick();
    else this.clock.advance(LOOK_MS);
    await this.#goOnUntilEnded(polls);
    await this.polled(polls);
  }
}

/** What the daemon answers over HTTP. */
export const served = ({ httpPort }: Daemon, path: 'healthz' | 'readyz' | 'metrics'): Promise<Response> =>
  fetch(`http://127.0.0.1:${httpPort}/${path}`);

/** How many messages wait for the broker. */
export async function outboxOf(daemon: Daemon): Promise<number> {
  const text = await (await served(daemon, 'metrics')).text();
  return Number(/^heat2mqtt_mqtt_outbox (\S+)$/m.exec(text)?.[1]);
}

/** A story whose first poll is over, and all that comes after it. */
export async function firstPoll({
  config = {},
  prepare = () => {},
  isLate = false,
  ...options
}: StoryOptions & {
  readonly config?: Readonly<Record<string, unknown>>;
  readonly prepare?: (story: Story) => void;
  /** The broker is there before the meter is found, and is asked for its history: the answer is waited for. */
  readonly isLate?: boolean;
} = {}) {
  const story = await openStory(options);
  prepare(story);
  const probe = await story.listen();
  const daemon = await story.start(config);
  const polled = story.polled(story.accounts.length);
  await (isLate ? story.passing(polled) : polled);
  const { simulator } = story;
  const { counters, switches } = simulator;
  return {
    story,
    probe,
    daemon,
    simulator,
    counters,
    switches,
    state: probe.json(STATE) ?? {},
    /** Stops this daemon, forgets what was heard, and starts another one. */
    async restart(over: Readonly<Record<string, unknown>> = {}) {
      await story.stop(daemon);
      probe.forget();
      return story.start(over);
    },
  };
}

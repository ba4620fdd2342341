// The whole daemon in this process, between a simulated provider and a real broker, under a clock moved by hand.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/load.ts';
import { type Daemon, startDaemon } from '../../src/daemon/daemon.ts';
import { type NextTick, nextTimes } from '../../src/engine/schedule.ts';
import type { Clock } from '../../src/foundation/clock.ts';
import { createLog, createScrubber, LogTail } from '../../src/foundation/log.ts';
import { type EmbeddedBroker, startBroker } from '../../src/mqtt/broker.ts';
import type { OpenProvider } from '../../src/provider/provider.ts';
import type { AccountOptions } from '../../src/simulator/accounts.ts';
import { startSimulator } from '../../src/simulator/provider.ts';
import { pathsBelow } from '../../src/store/privateFiles.ts';
import type { Ingress } from '../../src/web/server.ts';
import { noteSecrets, PERSONAL_CLAIMS } from './canaries.ts';
import { type HandClock, handClock } from './clock.ts';
import type { Fields } from './fields.ts';
import { ME, STATE } from './homes.ts';
import { type Probe, startProbe } from './probe.ts';
import { untilAtRest, untilTrue } from './rest.ts';
import { openStack } from './stack.ts';
import { laidOver, usualConfig } from './storyRules.ts';
import { type Typist, typed } from './typed.ts';

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

export type Story = Awaited<ReturnType<typeof openStory>>;

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

export async function openStory({
  at = '2025-03-10T12:00:00Z',
  accounts = [ME],
  daemonClock = (clock) => clock,
  openProvider,
  port = 0,
  hasRealMarks = false,
}: StoryOptions = {}) {
  const stack = openStack();
  const clock = handClock(at);
  const stateDir = await stack.folder();
  const secrets = noteSecrets(accounts);
  const simulator = stack.use(await startSimulator({ clock, accounts, port, onReply: secrets.onReply }));
  Object.assign(simulator.switches.token.claims, PERSONAL_CLAIMS);
  let broker: EmbeddedBroker = await startBroker();
  let brokerIsUp = true;
  stack.defer(() => broker.stop());

  const lines: string[] = [];
  const probes: Probe[] = [];
  const more: string[] = [];
  const said = () => [
    ...lines,
    ...more,
    ...probes.flatMap(({ heard }) => heard.flatMap(({ topic, payload }) => [topic, payload])),
  ];
  stack.defer(() => secrets.expectSilence(said()));
  /** A subscriber to everything. */
  async function listen(): Promise<Probe> {
    const probe = stack.use(await startProbe(broker.url, {}, untilAtRest));
    probes.push(probe);
    return probe;
  }
  // Somebody always listens, so that no message goes unchecked, and forgets: a year of them would fill the memory.
  let ear = stack.use(await startProbe(broker.url, {}, untilAtRest));
  /** Times of the schedule beside the usual ones. */
  const ticks: number[] = [];
  const nextTick: NextTick = (now) => {
    const usual = Math.floor(now / STEP_MS + 1) * STEP_MS;
    const at = Math.min(usual, ...ticks.filter((tick) => tick > now));
    return { at, stepMs: STEP_MS };
  };

  /** The usual configuration with `over` laid over it, section by section. */
  function configured(over: Readonly<Record<string, unknown>>): string {
    const usual = usualConfig(simulator.urls, accounts, broker.url, stateDir);
    // Whoever wants constituencies gets those of the simulator, never those of the Internet.
    const constituencies = over.constituencies && { base_url: simulator.urls.constituencies };
    return JSON.stringify(laidOver({ ...usual, constituencies }, over));
  }

  /** Starts the daemon with the usual configuration and `over`. */
  async function start(
    over: Readonly<Record<string, unknown>> = {},
    ingress: Ingress | null = null,
  ): Promise<Daemon> {
    const scrubber = createScrubber();
    const text = configured(over);
    const { config } = await loadConfig({
      path: 'story',
      readFile: async (path) => (path === 'story' ? text : readFile(path)),
      env: {},
      now: clock.now,
      scrubber,
      nextTimes,
    });
    const logTail = new LogTail();
    const log = createLog({
      level: 'trace',
      scrubber,
      write: (line) => void lines.push(line),
      tail: logTail,
    });
    const before = connections();
    const daemon = await startDaemon({
      config,
      clock: daemonClock(clock),
      log,
      logTail,
      report: async () => 'the report\n',
      ingress,
      scrubber,
      random: () => 0.5,
      nextTick,
      ...(hasRealMarks ? {} : { scryptCost: 2 }),
      ...(openProvider ? { openProvider } : {}),
    });
    stack.defer(() => stop(daemon));
    if (brokerIsUp && daemon.brokerUrl === broker.url) {
      const polls = ended();
      await goOnUntilConnected(before);
      await goOnUntilEnded(polls + accounts.length);
    }
    return daemon;
  }

  /** Everything under way in this process has come to rest. */
  const rest = async () => {
    await untilAtRest();
    ear.forget();
  };

  /** A meter that is new asks the broker for its history, which takes time on the clock. */
  async function goOnUntilEnded(polls: number): Promise<void> {
    const longest = LOOK_FOR_HISTORY_MS * accounts.length;
    for (let passed = 0; passed < longest && ended() < polls; passed += LOOK_STEP_MS) {
      clock.advance(LOOK_STEP_MS);
      await rest();
    }
  }

  const connections = () => lines.filter((line) => line.includes('connected to the broker')).length;
  /** Reading back what the broker remembers takes its time on the clock. */
  async function goOnUntilConnected(before: number): Promise<void> {
    for (let passed = 0; passed < LONGEST_OPENING_MS && connections() === before; passed += OPENING_STEP_MS) {
      await rest();
      if (connections() === before) clock.advance(OPENING_STEP_MS);
    }
    await rest();
  }

  const stopped = new WeakSet<Daemon>();
  /** Stops the daemon, and tells how many milliseconds of the clock that took at most. */
  async function stop(daemon: Daemon): Promise<number> {
    if (stopped.has(daemon)) return 0;
    stopped.add(daemon);
    const began = clock.now();
    await passing(daemon.stop());
    return clock.now() - began;
  }

  /** Lets time pass until it settles. */
  async function passing<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const end = () => {
      isOver = true;
    };
    work.then(end, end);
    while (!isOver) {
      await rest();
      if (!isOver) clock.advance(50);
    }
    return work;
  }

  /**
   * What a person types beside the daemon: with the usual configuration and `over`, or with that text. It may show a link to sign in, and
   * no secret.
   */
  async function type(
    words: string,
    over: Readonly<Record<string, unknown>> | string = {},
    given: Typist = {},
  ) {
    const path = join(await stack.folder(), 'config.yaml');
    await writeFile(path, typeof over === 'string' ? over : configured(over));
    const line = [...words.split(' '), '--config', path];
    const printed = await passing(typed(line, { clock, isInteractive: given.ask !== undefined, ...given }));
    secrets.expectLinkOnly([printed.out, printed.err]);
    return printed;
  }

  /** The schedule fires, for a daemon that looks at it every second. */
  async function tick(): Promise<void> {
    ticks.push(clock.now() + LOOK_MS + 1);
    await rest();
    clock.advance(LOOK_MS);
    await rest();
    clock.advance(LOOK_MS + 1);
  }

  const count = (words: RegExp) => lines.filter((line) => words.test(line)).length;
  const ended = () => count(/"msg":"poll(ed"| failed)/);
  /** Waits until so many polls of an account have ended, well or badly, since the story was opened; extras too. */
  async function polled(times: number): Promise<void> {
    // A poll that went well asks for extras afterwards.
    const isOver = () => ended() >= times && count(/"msg":"extras /) >= count(/"msg":"polled"/);
    await untilTrue(`the end of poll ${times}`, isOver, { diagnose: () => lines.slice(-5) });
    await rest();
  }

  async function stopBroker(): Promise<void> {
    brokerIsUp = false;
    await broker.stop();
  }

  /** On the same port, remembering nothing. */
  async function restartBroker(): Promise<void> {
    if (brokerIsUp) await stopBroker();
    broker = await startBroker({ port: broker.port });
    ear = stack.use(await startProbe(broker.url, {}, untilAtRest));
    brokerIsUp = true;
  }

  const log = () => lines.map((line): Fields => JSON.parse(line));

  return {
    accounts,
    /** The usual configuration with `over` laid over it, in a file. */
    async configuredAt(over: Readonly<Record<string, unknown>> = {}): Promise<string> {
      const path = join(await stack.folder(), 'config.yaml');
      await writeFile(path, configured(over));
      return path;
    },
    clock,
    simulator,
    secrets,
    stateDir,
    stack,
    /** What else the program has said: it is searched for secrets when the story ends, as topics and log are. */
    alsoSaid: (...texts: readonly string[]) => void more.push(...texts),
    /** What stands in the state directory, file by file. */
    async stateFiles(): Promise<string[]> {
      const names = await pathsBelow(stateDir);
      const files = names.filter((name) => name.endsWith('.json'));
      return Promise.all(files.map((name) => readFile(join(stateDir, name), 'utf8')));
    },
    /** The lines of the log, parsed. */
    get log() {
      return log();
    },
    /** The lines with this message. */
    logged: (message: string) => log().filter(({ msg }) => msg === message),
    forgetLog: () => void lines.splice(0),
    start,
    stop,
    listen,
    stopBroker,
    restartBroker,
    /** Lets time pass, in steps that wake a sleeper; whatever a step sets going comes to rest before the next. */
    async pass(ms: number, stepMs = 1_000) {
      await rest();
      for (let left = ms; left > 0; ) {
        const step = Math.min(left, Math.max(stepMs, clock.untilNext));
        clock.advance(step);
        await rest();
        left -= step;
      }
    },
    passing,
    type,
    rest,
    tick,
    polled,
    /** Time passes at once, the schedule fires, and the poll of each account has ended. */
    async nextPoll(afterMs = 0) {
      const before = ended();
      const { at } = nextTick(clock.now());
      clock.advance(afterMs);
      if (clock.now() < at) await tick();
      else clock.advance(LOOK_MS);
      await rest();
      await goOnUntilEnded(before + accounts.length);
      await polled(before + accounts.length);
    },
  };
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

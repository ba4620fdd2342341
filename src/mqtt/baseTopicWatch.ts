// Hears others on the two topics by which an installation shows itself, bridge/state and bridge/info. A broker gives every publisher
// its own messages back, and MQTT 3.1.1 cannot tell them apart: our bridge/info is known by its instance; on bridge/state it does not
// matter whose word it is, but whether the last one is right.
import type { Clock } from '../foundation/clock.ts';
import { Paced, ThrottledLog } from '../foundation/limits.ts';
import type { Log } from '../foundation/log.ts';
import type { Incoming } from './message.ts';

interface WatchParts {
  readonly stateTopic: string;
  readonly infoTopic: string;
  /** Our own bridge/info carries it. */
  readonly instance: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Without a connection nothing is put right: the next one says everything. */
  readonly isConnected: () => boolean;
  /** `isAll`: another installation has written on our topics since they were last said, and is seen to go. */
  readonly sayOnline: (isAll: boolean) => void;
  /** Publishes bridge/info again, as it is. */
  readonly sayInfo: () => void;
  /** `reasons()` are others now. */
  readonly onChange: () => void;
}

// Time enough for an `online` that comes anyway: ours after the will of our last connection, or that of a rival that starts again.
const WRONG_FOR_MS = 1_000;
/** Two answers of a kind are so far apart, so that no flood and no rival makes another flood of them. */
const REST_MS = 10_000;
const LOOK_REST_MS = 1_000;
const FORGOTTEN_AFTER_MS = 3_600_000;
/** Two that go on side by side hear one another so often. */
const SAY_AGAIN_MS = 900_000;
/** Whoever draws a new one for each message gets no more memory than this. */
const MOST_ANSWERED = 100;
const LONGEST_INSTANCE = 100;

const ONLINE = Buffer.from('online');

const TWO_INSTALLATIONS = {
  code: 'two_installations',
  message: 'Another heat2mqtt publishes below the same base topic of this broker: each overwrites the other.',
  hint: 'Stop one of the two, or give it a mqtt.base_topic of its own. An hour after the other was heard last, this goes by itself.',
};

export class BaseTopicWatch {
  readonly #parts: WatchParts;
  readonly #ownInstance: Buffer;
  readonly #rightState: Paced;
  readonly #lookAtInfo: Paced;
  readonly #answerInfo: Paced;
  /** Both are planned as long as another installation is told of. */
  readonly #answerAgain: Paced;
  readonly #forget: Paced;
  readonly #throttledLog: ThrottledLog;
  /** The newest bridge/info that is not ours and has not been looked at. */
  #unread: Buffer | null = null;
  /** Instances of others that have been answered. */
  readonly #answered = new Set<string>();
  /** Another has written on our topics since we last said all of them. */
  #isOverwritten = false;
  #isStopped = false;

  constructor(parts: WatchParts) {
    const { clock, log, instance } = parts;
    this.#parts = parts;
    this.#throttledLog = new ThrottledLog(clock, log);
    this.#ownInstance = Buffer.from(JSON.stringify(instance));
    this.#rightState = new Paced(clock, REST_MS, () => this.#sayOnline());
    this.#lookAtInfo = new Paced(clock, LOOK_REST_MS, () => this.#look());
    this.#answerInfo = new Paced(clock, REST_MS, () => parts.sayInfo());
    this.#answerAgain = new Paced(clock, 0, () => {
      this.#answerInfo.ask();
      this.#answerAgain.ask(SAY_AGAIN_MS);
    });
    this.#forget = new Paced(clock, 0, () => {
      this.#answered.clear();
      this.#answerAgain.cancel();
      parts.onChange();
    });
  }

  get instance(): string {
    return this.#parts.instance;
  }

  /** `false`: it is about something else. */
  hear({ topic, payload, retained }: Incoming): boolean {
    const { stateTopic, infoTopic } = this.#parts;
    if (topic !== stateTopic && topic !== infoTopic) return false;
    // Nobody knows how old a retained message is, and whether its author still lives.
    if (retained || this.#isStopped) return true;
    if (topic === stateTopic) this.#hearState(payload);
    else this.#hearInfo(payload);
    return true;
  }

  reasons(): readonly (typeof TWO_INSTALLATIONS)[] {
    return this.#forget.isPlanned ? [TWO_INSTALLATIONS] : [];
  }

  /** Nothing is answered any more: our own last words are on their way. */
  stop(): void {
    this.#isStopped = true;
    const answers = [this.#rightState, this.#answerInfo, this.#answerAgain];
    for (const planned of [...answers, this.#lookAtInfo, this.#forget]) planned.cancel();
  }

  #hearState(payload: Buffer): void {
    if (payload.equals(ONLINE)) this.#rightState.cancel();
    else this.#rightState.ask(WRONG_FOR_MS);
  }

  #sayOnline(): void {
    // A broker that stops sends our own will first.
    if (!this.#parts.isConnected()) return;
    const isAll = this.#isOverwritten;
    this.#isOverwritten = false;
    const words = 'bridge/state was not online on the broker any more, and is put right';
    this.#throttledLog.write('warn', 'state', {}, words);
    this.#parts.sayOnline(isAll);
  }

  #hearInfo(payload: Buffer): void {
    if (payload.includes(this.#ownInstance)) return;
    this.#unread = payload;
    this.#lookAtInfo.ask();
  }

  #look(): void {
    const instance = this.#unread === null ? null : instanceIn(this.#unread);
    this.#unread = null;
    if (instance === null) return;
    this.#isOverwritten = true;
    this.#tell();
    if (this.#answered.has(instance)) return;
    const [oldest = ''] = this.#answered;
    if (this.#answered.size >= MOST_ANSWERED) this.#answered.delete(oldest);
    this.#answered.add(instance);
    this.#answerInfo.ask();
  }

  #tell(): void {
    const { log, onChange } = this.#parts;
    const isNews = !this.#forget.isPlanned;
    this.#forget.cancel();
    this.#forget.ask(FORGOTTEN_AFTER_MS);
    if (!isNews) return;
    const { message, ...words } = TWO_INSTALLATIONS;
    log.warn(words, message);
    this.#answerAgain.ask(SAY_AGAIN_MS);
    onChange();
  }
}

/** `null`: no installation says this. Those of before draw none, and count as one. */
function instanceIn(info: Buffer): string | null {
  try {
    const { instance, version, base_topic: base } = Object(JSON.parse(info.toString('utf8')));
    if (instance === undefined) return typeof version === 'string' && typeof base === 'string' ? '' : null;
    const isOne = typeof instance === 'string' && instance !== '' && instance.length <= LONGEST_INSTANCE;
    return isOne ? instance : null;
  } catch {
    return null;
  }
}

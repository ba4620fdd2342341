// Requests over MQTT: `<base>/bridge/request/<name>` in, an answer on `<base>/bridge/response/<name>` out.
import { isUtf8 } from 'node:buffer';
import * as z from 'zod';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, Failure, failure, safeWords } from '../foundation/failure.ts';
import { PacedQueue, ThrottledLog } from '../foundation/limits.ts';
import type { Log } from '../foundation/log.ts';
import type { Incoming, Message } from './message.ts';
import { isAnswerPlace, LARGEST_ANSWER_TOPIC, type ResponseTopics } from './responseTopics.ts';

/** The outcome of a handler. `skipped`: understood, but not done now. */
export interface Answer {
  readonly status: 'ok' | 'skipped' | 'error';
  readonly data?: Readonly<Record<string, unknown>>;
  /** An answer with `error` has the safe words of a fault that still leaves something to tell. */
  readonly error?: ReturnType<typeof safeWords>;
}

export type Parameters = Readonly<Record<string, unknown>>;

/** `tell`: how far it is, on the response topic with status `progress`, before the answer comes. */
export type Handler = (parameters: Parameters, tell: (progress: Parameters) => void) => Promise<Answer>;

const refusal = (code: string, exit: number) => (message: string, hint?: string) =>
  failure(code, message, { exit, retry: 'never', hint });

/** The request cannot be understood; the text names each parameter, what was found and what is allowed. */
export const requestMalformed = refusal('request_malformed', EXIT.usage);
/** The request is understood, but the configuration leaves out what it is about. */
export const notConfigured = refusal('not_configured', EXIT.config);
const unknownRequest = refusal('unknown_request', EXIT.usage);
const responseTopicRefused = refusal('response_topic_refused', EXIT.usage);

const LONGEST_ECHO = 60;

/** One mistake of a request_malformed. */
export const mistake = (parameter: string, value: unknown, allowed: string): string =>
  `${parameter}: found ${echoOf(value)}; allowed: ${allowed}.`;

function echoOf(value: unknown): string {
  try {
    return (JSON.stringify(value) ?? 'nothing').slice(0, LONGEST_ECHO);
  } catch {
    // Writing thousands of values within one another takes more stack than there is.
    return 'too many values within one another';
  }
}

/**
 * Checks the parameters of a request; each message of the schema says what is allowed. Throws request_malformed with
 * every mistake, the parameters as `nameOf` calls them.
 */
export function readParameters<S extends z.ZodObject>(
  schema: S,
  given: Parameters,
  nameOf: (parameter: string) => string = (parameter) => parameter,
): z.infer<S> {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const mistakes = result.error.issues.map((issue) => {
    if (issue.code === 'unrecognized_keys') {
      const unknown = issue.keys.map((key) => `"${key.slice(0, LONGEST_ECHO)}"`).slice(0, 3);
      return `Unknown parameter ${unknown.join(', ')}; allowed: ${Object.keys(schema.shape).map(nameOf).join(', ') || 'none'}.`;
    }
    const parameter = String(issue.path[0]);
    return mistake(nameOf(parameter), given[parameter], issue.message);
  });
  // A list may have the same mistake many times.
  throw requestMalformed([...new Set(mistakes)].join(' '));
}

const LARGEST_REQUEST_BYTES = 8_192;
const LONGEST_SHOWN_REQUEST = 40;
// An unknown name becomes a level of the topic of its answer.
const ANSWERABLE_NAME = /^[A-Za-z0-9_-]{1,40}$/;
// Up to 500 answers may wait for a broker: what each of them carries must not be the asker's to choose freely.
const LARGEST_CORRELATION_BYTES = 1_024;

/** More than any flow asks for, and a few hundredths of the time: in between everything else has its turn. */
const FLOOD = { most: 20, windowMs: 1_000, longest: 200 };
/** The kind of all requests that there are not. */
const UNKNOWN = 'unknown';

/** The place of an answer besides our own topic. */
type AnswerPlace = Pick<Message, 'topic' | 'correlationData'>;

interface RequestParts {
  readonly mqtt: Pick<Config['mqtt'], 'base_topic' | 'discovery_prefix' | 'response_topics'>;
  /** The program publishes below these, and below the discovery prefix: answers go to none of them. */
  readonly branches: readonly string[];
  readonly handlers: Readonly<Record<string, Handler>>;
  /** The schema of the parameter `transaction`; any other is not echoed. */
  readonly transaction: z.ZodType;
  readonly link: { publish(messages: readonly Message[]): void };
  readonly clock: Clock;
  readonly log: Log;
}

export class Requests {
  readonly #parts: RequestParts;
  readonly #baseTopic: string;
  readonly #responseTopics: ResponseTopics;
  readonly #throttledLog: ThrottledLog;
  /** The keys are names of requests: a flood of one kind holds up no other. */
  readonly #queues: ReadonlyMap<string, PacedQueue>;

  constructor(parts: RequestParts) {
    const { clock, log, handlers, branches } = parts;
    const { base_topic, discovery_prefix: prefix, response_topics: allowed } = parts.mqtt;
    this.#parts = parts;
    this.#baseTopic = base_topic;
    this.#responseTopics = { published: prefix === false ? branches : [...branches, prefix], allowed };
    this.#throttledLog = new ThrottledLog(clock, log);
    const kinds = [...Object.keys(handlers), UNKNOWN];
    this.#queues = new Map(kinds.map((kind) => [kind, new PacedQueue(clock, FLOOD)]));
  }

  isKnown(name: string): boolean {
    return Object.hasOwn(this.#parts.handlers, name);
  }

  /**
   * The answer as JSON; `tell` gets how far it is, as JSON too. `refused`: where the answer is wanted is no place for it. Never
   * rejects.
   */
  async answer(
    name: string,
    payload: Buffer,
    tell: (progress: string) => void,
    refused: Failure | null = null,
  ): Promise<string> {
    const { handlers } = this.#parts;
    const asked = parse(payload);
    const { transaction: given, ...parameters } = asked ?? {};
    const { data: transaction } = this.#parts.transaction.safeParse(given);
    const written = (reply: object): string => JSON.stringify({ schema: 1, ...reply, transaction });
    try {
      const handler = this.isKnown(name) ? handlers[name] : undefined;
      // The name of such a request is the mistake to tell, whatever its payload is.
      if (!handler)
        throw unknownRequest(
          `Unknown request "${name}"; there are: ${Object.keys(handlers).sort().join(', ')}.`,
        );
      if (asked === null) throw requestMalformed(NO_REQUEST);
      if (refused !== null) throw refused;
      return written(await handler(parameters, (data) => tell(written({ status: 'progress', data }))));
    } catch (err) {
      if (!(err instanceof Failure))
        this.#throttledLog.write('error', `failed ${name}`, { err, request: name }, 'request failed');
      return written({ status: 'error', error: safeWords(err) });
    }
  }

  /** Answers every request but retained ones, and those of a flood that comes too fast. */
  onMessage(incoming: Incoming): void {
    const { topic, payload, retained } = incoming;
    const prefix = `${this.#baseTopic}/bridge/request/`;
    if (!topic.startsWith(prefix)) return;
    const name = topic.slice(prefix.length);
    if (retained) {
      this.#warn(name, 'retained request ignored: publish requests without the retain flag');
      return;
    }
    if (!this.isKnown(name)) this.#warn(name, 'unknown request');
    if (!ANSWERABLE_NAME.test(name)) return;
    const wanted = answerPlaceOf(incoming, this.#baseTopic, this.#responseTopics);
    if (wanted instanceof Failure)
      this.#warn(name, 'request refused: its response topic is no place for an answer');
    // A request that waits must not keep the whole packet that it came in.
    const beginning = Buffer.from(payload.subarray(0, LARGEST_REQUEST_BYTES + 1));
    const step = () => void this.#reply(name, beginning, wanted);
    if (!this.#queues.get(this.#kindOf(name))?.add(step))
      this.#warn(name, 'request left out: they come faster than they are answered');
  }

  async #reply(name: string, payload: Buffer, wanted: AnswerPlace | Failure | null): Promise<void> {
    const { link } = this.#parts;
    const message = { topic: `${this.#baseTopic}/bridge/response/${name}`, retain: false };
    const tell = (progress: string) => link.publish([{ ...message, payload: progress }]);
    const refused = wanted instanceof Failure ? wanted : null;
    const answer = { ...message, payload: await this.answer(name, payload, tell, refused) };
    if (wanted === null || wanted instanceof Failure) return link.publish([answer]);
    const wantedAnswer = { ...answer, ...wanted };
    link.publish(wanted.topic === message.topic ? [wantedAnswer] : [answer, wantedAnswer]);
  }

  #kindOf(name: string): string {
    return this.isKnown(name) ? name : UNKNOWN;
  }

  #warn(name: string, words: string): void {
    const request = name.slice(0, LONGEST_SHOWN_REQUEST);
    this.#throttledLog.write('warn', `${words} ${this.#kindOf(name)}`, { request }, words);
  }
}

/** `null`: on our own topic only. A Failure: what is wanted is no place for an answer. */
function answerPlaceOf(
  { responseTopic: topic, correlationData }: Incoming,
  baseTopic: string,
  topics: ResponseTopics,
): AnswerPlace | Failure | null {
  if (!topic) return null;
  const bytes = correlationData?.length ?? 0;
  if (bytes > LARGEST_CORRELATION_BYTES)
    return requestMalformed(
      mistake('bytes of correlation data', bytes, `at most ${LARGEST_CORRELATION_BYTES}`),
    );
  if (!isAnswerPlace(topic, baseTopic, topics)) {
    const below = `one below ${baseTopic}, such as ${baseTopic}/bridge/response/mine`;
    const elsewhere = 'one with a level response, reply or answer, such as node-red/reply';
    const words = mistake(
      'response topic',
      topic,
      `${below}, but none of our own; elsewhere ${elsewhere}; ${LARGEST_ANSWER_TOPIC}`,
    );
    return responseTopicRefused(words, 'mqtt.response_topics in the configuration allows other places.');
  }
  return correlationData ? { topic, correlationData: Buffer.from(correlationData) } : { topic };
}

const NO_REQUEST = `The request is not a JSON object of at most ${LARGEST_REQUEST_BYTES} bytes; allowed is an empty payload or an object.`;

/** `null`: neither empty nor a JSON object, or too large. A text that is no UTF-8 must not come through with other characters in it. */
function parse(payload: Buffer): Parameters | null {
  if (payload.length > LARGEST_REQUEST_BYTES || !isUtf8(payload)) return null;
  const text = payload.toString('utf8').trim();
  try {
    return text === '' ? {} : z.record(z.string(), z.unknown()).parse(JSON.parse(text));
  } catch {
    return null;
  }
}

// Requests over MQTT: `<base>/bridge/request/<name>` in, an answer on `<base>/bridge/response/<name>` out.
import * as z from 'zod';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, Failure, failure, safeWords } from '../foundation/failure.ts';
import { ThrottledLog } from '../foundation/limits.ts';
import type { Log } from '../foundation/log.ts';
import type { Incoming, Message } from './message.ts';

/** What a handler found. `skipped`: understood, but not done now. */
export interface Answer {
  readonly status: 'ok' | 'skipped' | 'error';
  readonly data?: Readonly<Record<string, unknown>>;
  /** With `error`: the safe words of a fault that still leaves something to tell. */
  readonly error?: ReturnType<typeof safeWords>;
}

export type Parameters = Readonly<Record<string, unknown>>;

/** `tell`: how far it is, on the response topic with status `progress`, before the answer comes. */
export type Handler = (parameters: Parameters, tell: (progress: Parameters) => void) => Promise<Answer>;

/** The request cannot be understood; the text names each parameter, what was found and what is allowed. */
export const requestMalformed = (message: string) =>
  failure('request_malformed', message, { exit: EXIT.usage, retry: 'never' });

/** The request is understood, but the configuration leaves out what it is about. */
export const notConfigured = (message: string) =>
  failure('not_configured', message, { exit: EXIT.config, retry: 'never' });

const unknownRequest = (name: string, known: readonly string[]) =>
  failure('unknown_request', `Unknown request "${name}"; there are: ${known.join(', ')}.`, {
    exit: EXIT.usage,
    retry: 'never',
  });

const LONGEST_ECHO = 60;

/** One mistake of a request_malformed. */
export const mistake = (parameter: string, found: unknown, allowed: string): string =>
  `${parameter}: found ${(JSON.stringify(found) ?? 'nothing').slice(0, LONGEST_ECHO)}; allowed: ${allowed}.`;

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
      return `Unknown parameter ${unknown.join(', ')}; allowed: ${Object.keys(schema.shape).map(nameOf).join(', ')}.`;
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
const LONGEST_RESPONSE_TOPIC = 512;
const LARGEST_CORRELATION_BYTES = 1_024;

interface RequestParts {
  readonly baseTopic: string;
  /** Where answers may not go although a request names it: a requester must not speak in our name there. */
  readonly protectedTopics: readonly string[];
  readonly handlers: Readonly<Record<string, Handler>>;
  /** The schema of the parameter `transaction`; any other is not echoed. */
  readonly transaction: z.ZodType;
  readonly publish: (messages: readonly Message[]) => void;
  readonly clock: Clock;
  readonly log: Log;
}

export class Requests {
  readonly #parts: RequestParts;
  readonly #prefix: string;
  readonly #throttledLog: ThrottledLog;

  constructor(parts: RequestParts) {
    this.#parts = parts;
    this.#prefix = `${parts.baseTopic}/bridge/request/`;
    this.#throttledLog = new ThrottledLog(parts.clock);
  }

  /** Answers every request but retained ones; resolves when the answer is on its way. */
  async onMessage({ topic: asking, payload, retained, responseTopic, ...rest }: Incoming): Promise<void> {
    const { baseTopic, protectedTopics, publish, log } = this.#parts;
    if (!asking.startsWith(this.#prefix)) return;
    const name = asking.slice(this.#prefix.length);
    if (retained) {
      const kind = this.isKnown(name) ? name : 'unknown';
      this.#throttledLog.write(`retained ${kind}`, (more) =>
        log.warn(
          { request: name.slice(0, LONGEST_SHOWN_REQUEST), ...more },
          'retained request ignored: publish requests without the retain flag',
        ),
      );
      return;
    }
    const topic = `${baseTopic}/bridge/response/${name}`;
    const isAnswerable = ANSWERABLE_NAME.test(name);
    const answer = await this.answer(name, payload, (progress) => {
      if (isAnswerable) publish([{ topic, payload: progress, retain: false }]);
    });
    if (!isAnswerable) return;
    const answers: Message[] = [{ topic, payload: answer, retain: false }];
    const { correlationData } = rest;
    const isSmallEnough = (correlationData?.length ?? 0) <= LARGEST_CORRELATION_BYTES;
    if (
      responseTopic !== undefined &&
      isSmallEnough &&
      isAllowed(responseTopic, baseTopic, protectedTopics)
    ) {
      answers.push({
        topic: responseTopic,
        payload: answer,
        retain: false,
        ...(correlationData ? { correlationData } : {}),
      });
    }
    publish(answers);
  }

  isKnown(name: string): boolean {
    return Object.hasOwn(this.#parts.handlers, name);
  }

  /** The answer as JSON; `tell` gets how far it is, as JSON too. Never rejects. */
  async answer(name: string, payload: Buffer, tell: (progress: string) => void): Promise<string> {
    const { handlers, log } = this.#parts;
    const handler = (this.isKnown(name) && handlers[name]) || this.#unknown(name);
    let asked: Parameters = {};
    const written = (reply: object): string => {
      const { data: transaction } = this.#parts.transaction.safeParse(asked.transaction);
      return JSON.stringify({ schema: 1, ...reply, transaction });
    };
    try {
      asked = this.isKnown(name) ? parse(payload) : parseIfPossible(payload);
      const { transaction: _, ...parameters } = asked;
      return written(await handler(parameters, (data) => tell(written({ status: 'progress', data }))));
    } catch (err) {
      if (!(err instanceof Failure)) {
        this.#throttledLog.write(`failed ${name}`, (more) =>
          log.error({ err, request: name, ...more }, 'request failed'),
        );
      }
      return written({ status: 'error', error: safeWords(err) });
    }
  }

  #unknown(name: string): Handler {
    const { handlers, log } = this.#parts;
    const request = name.slice(0, LONGEST_SHOWN_REQUEST);
    this.#throttledLog.write('unknown', (more) => log.warn({ ...more, request }, 'unknown request'));
    return async () => {
      throw unknownRequest(name, Object.keys(handlers).sort());
    };
  }
}

function parse(payload: Buffer): Parameters {
  if (payload.length > LARGEST_REQUEST_BYTES) {
    throw requestMalformed(
      `The request has more than ${LARGEST_REQUEST_BYTES} bytes, which is all that is allowed.`,
    );
  }
  try {
    // A text that is no UTF-8 must not come through with replacement characters in it.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(payload).trim();
    if (text === '') return {};
    return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
  } catch {
    throw requestMalformed('The request is not a JSON object; allowed is an empty payload or an object.');
  }
}

/** The name of such a request is the mistake to tell, whatever its payload is. */
function parseIfPossible(payload: Buffer): Parameters {
  try {
    return parse(payload);
  } catch {
    return {};
  }
}

function isAllowed(topic: string, baseTopic: string, protectedTopics: readonly string[]): boolean {
  if (topic === '' || topic.length > LONGEST_RESPONSE_TOPIC) return false;
  if (/[+#\0]/.test(topic) || topic.startsWith('$')) return false;
  if (topic.startsWith(`${baseTopic}/bridge/response/`)) return true;
  return ![baseTopic, ...protectedTopics].some(
    (prefix) => topic === prefix || topic.startsWith(`${prefix}/`),
  );
}

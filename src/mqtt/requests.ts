// Requests over MQTT: `<base>/bridge/request/<what>` in, an answer on `<base>/bridge/response/<what>` out.
import * as z from 'zod';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, Failure, safeWords } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import type { Incoming, Message } from './message.ts';
import { openSparing } from './sparing.ts';

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

/** The request cannot be understood; the text names the parameter, what was found and what is allowed. */
export class RequestMalformed extends Failure {
  readonly code = 'request_malformed';
  readonly exitCode = EXIT.usage;

  constructor(message: string) {
    super(message, { retry: 'never' });
  }
}

export interface RequestParts {
  readonly baseTopic: string;
  /** Where answers may not go although a request names it: whoever asks must not speak in our name there. */
  readonly guarded: readonly string[];
  readonly handlers: Readonly<Record<string, Handler>>;
  readonly publish: (messages: readonly Message[]) => void;
  readonly clock: Clock;
  readonly log: Log;
}

const LARGEST_REQUEST_BYTES = 8_192;
const LONGEST_SHOWN_REQUEST = 40;
// Up to 500 answers may wait for a broker: what each of them carries must not be the asker's to choose freely.
const LONGEST_RESPONSE_TOPIC = 512;
const LARGEST_CORRELATION_BYTES = 1_024;
const transaction = z.union([z.string().max(256), z.number()]);

/** Answers every request but retained ones; resolves when the answer is on its way. */
export function openRequests({ baseTopic, guarded, handlers, publish, clock, log }: RequestParts) {
  const prefix = `${baseTopic}/bridge/request/`;
  const sparing = openSparing(clock);

  return async (incoming: Incoming): Promise<void> => {
    if (!incoming.topic.startsWith(prefix)) return;
    const what = incoming.topic.slice(prefix.length);
    const handler = Object.hasOwn(handlers, what) ? handlers[what] : undefined;
    if (!handler) {
      const shown = { request: what.slice(0, LONGEST_SHOWN_REQUEST) };
      sparing.tell('unknown', (unsaid) => log.warn({ ...unsaid, ...shown }, 'unknown request ignored'));
      return;
    }
    if (incoming.retained) {
      sparing.tell(`retained ${what}`, (unsaid) =>
        log.warn(
          { request: what, ...unsaid },
          'retained request ignored: publish requests without the retain flag',
        ),
      );
      return;
    }
    const topic = `${baseTopic}/bridge/response/${what}`;
    let asked: Record<string, unknown> = {};
    const written = (reply: Record<string, unknown>): string => {
      const known = transaction.safeParse(asked.transaction);
      return JSON.stringify({ schema: 1, ...reply, ...(known.success ? { transaction: known.data } : {}) });
    };
    let reply: Record<string, unknown>;
    try {
      asked = parse(incoming.payload);
      const { transaction: _, ...parameters } = asked;
      const tell = (data: Parameters) =>
        publish([{ topic, payload: written({ status: 'progress', data }), retain: false }]);
      reply = { ...(await handler(parameters, tell)) };
    } catch (err) {
      if (!(err instanceof Failure)) {
        sparing.tell(`failed ${what}`, (unsaid) =>
          log.error({ err, request: what, ...unsaid }, 'request failed'),
        );
      }
      reply = { status: 'error', error: safeWords(err) };
    }
    const payload = written(reply);
    const answers: Message[] = [{ topic, payload, retain: false }];
    const { responseTopic, correlationData } = incoming;
    const isHandy = (correlationData?.length ?? 0) <= LARGEST_CORRELATION_BYTES;
    if (responseTopic !== undefined && isHandy && isAllowed(responseTopic, baseTopic, guarded)) {
      answers.push({
        topic: responseTopic,
        payload,
        retain: false,
        ...(correlationData ? { correlationData } : {}),
      });
    }
    publish(answers);
  };
}

function parse(payload: Buffer): Record<string, unknown> {
  if (payload.length > LARGEST_REQUEST_BYTES) {
    throw new RequestMalformed(
      `The request has more than ${LARGEST_REQUEST_BYTES} bytes, which is all that is allowed.`,
    );
  }
  try {
    // A text that is no UTF-8 must not come through with replacement characters in it.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(payload).trim();
    if (text === '') return {};
    return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
  } catch {
    throw new RequestMalformed('The request is not a JSON object; allowed is an empty payload or an object.');
  }
}

function isAllowed(topic: string, baseTopic: string, guarded: readonly string[]): boolean {
  if (topic === '' || topic.length > LONGEST_RESPONSE_TOPIC) return false;
  if (/[+#\0]/.test(topic) || topic.startsWith('$')) return false;
  if (topic.startsWith(`${baseTopic}/bridge/response/`)) return true;
  return ![baseTopic, ...guarded].some((prefix) => topic === prefix || topic.startsWith(`${prefix}/`));
}

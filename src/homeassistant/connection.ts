// A conversation with Home Assistant over its WebSocket: sign-in, then one reply for each command, within a deadline.
import type { ClientRequest } from 'node:http';
import type { RawData, WebSocket } from 'ws';
import type * as z from 'zod';
import { about } from '../foundation/about.ts';
import type { Clock } from '../foundation/clock.ts';
import { codeOf } from '../foundation/failure.ts';
import { excessIn, LARGEST_JSON_BYTES } from '../foundation/json.ts';
import { HomeAssistantTrouble, troubleWith } from './trouble.ts';

/** A command of the WebSocket API, without its id. */
interface Command {
  readonly type: string;
  readonly [key: string]: unknown;
}

export interface Address {
  readonly url: string;
  readonly token: string;
}

const REPLY_MS = 60_000;
const SIGN_IN_MS = 15_000;
const MOST_REDIRECTS = 3;
/** Codes of `ws` for a message that is larger than it may be, or in more pieces. */
const EXCESSES: ReadonlyMap<string | null, string> = new Map([
  ['WS_ERR_UNSUPPORTED_MESSAGE_LENGTH', `more than ${LARGEST_JSON_BYTES / 1024 / 1024} MiB`],
  ['WS_ERR_TOO_MANY_BUFFERED_PARTS', 'too many pieces'],
]);

/** Rejects with HomeAssistantTrouble. The signal ends the connection, whatever is under way on it. */
export async function openHomeAssistant(
  address: Address,
  clock: Clock,
  signal: AbortSignal,
): Promise<HomeAssistant> {
  const { default: Socket } = await import('ws');
  const ws = new Socket(address.url, {
    maxPayload: LARGEST_JSON_BYTES,
    perMessageDeflate: false,
    followRedirects: true,
    finishRequest,
    headers: { 'user-agent': about.userAgent },
  });
  const hangUp = () => ws.terminate();
  signal.addEventListener('abort', hangUp);
  ws.on('close', () => signal.removeEventListener('abort', hangUp));
  if (signal.aborted) hangUp();
  try {
    const version = await inTime(clock, SIGN_IN_MS, signIn(ws, address));
    return new HomeAssistant(ws, version, clock);
  } catch (err) {
    hangUp();
    throw err;
  }
}

/** The library would open a redirect to a socket file of this machine, and throw at a space in it where nobody can catch it. */
function finishRequest(request: ClientRequest): void {
  request.prependListener('response', ({ headers }) => {
    const { location = '' } = headers;
    if (URL.canParse(location) && new URL(location).protocol === 'ws+unix:') delete headers.location;
  });
  request.end();
}

async function inTime<T>(clock: Clock, ms: number, doing: Promise<T>): Promise<T> {
  let cancel = () => {};
  const silence = new Promise<never>((_, reject) => {
    cancel = clock.after(ms, () => reject(new HomeAssistantTrouble('silent')));
  });
  return Promise.race([doing, silence]).finally(cancel);
}

type Fields = Readonly<Record<string, unknown>>;

/** A connection that is signed in, until it ends; it does not come back. */
export class HomeAssistant {
  /** Year and month: `2026.10`. */
  readonly version: string;
  readonly #ws: WebSocket;
  readonly #clock: Clock;
  /** The keys are ids of commands; called with `null` when the connection ends. */
  readonly #waiting = new Map<unknown, (result: Fields | null) => void>();
  #newestId = 0;
  /** The limit that a message broke, which has ended the connection. */
  #excess: string | null = null;

  constructor(ws: WebSocket, version: string, clock: Clock) {
    this.#ws = ws;
    this.version = version;
    this.#clock = clock;
    ws.removeAllListeners('message');
    ws.on('message', (bytes) => this.#hear(bytesOf(bytes)));
    ws.on('error', (err) => this.#hangUp(EXCESSES.get(codeOf(err)) ?? null));
    ws.on('close', () => {
      for (const settle of this.#waiting.values()) settle(null);
    });
  }

  /** Resolves to the result, which has this shape. Rejects with HomeAssistantTrouble. */
  async send<T>(command: Command, shape: z.ZodType<T>): Promise<T> {
    const answer = await inTime(this.#clock, REPLY_MS, this.#ask(command));
    if (answer === null && this.#excess !== null) throw new HomeAssistantTrouble('too_large', this.#excess);
    if (answer === null) throw new HomeAssistantTrouble('cut');
    if (answer.success !== true) throw troubleWith(command.type, answer.error);
    const { data, error } = shape.safeParse(answer.result);
    if (error) throw new HomeAssistantTrouble('strange', `to ${command.type}`);
    return data as T;
  }

  close(): void {
    this.#ws.close();
  }

  /** Resolves to `null` when the connection ends. */
  #ask(command: Command): Promise<Fields | null> {
    this.#newestId += 1;
    const id = this.#newestId;
    return new Promise((resolve) => {
      if (this.#ws.readyState !== this.#ws.OPEN) {
        resolve(null);
        return;
      }
      this.#waiting.set(id, resolve);
      this.#ws.send(JSON.stringify({ id, ...command }));
    });
  }

  #hear(bytes: Buffer): void {
    const excess = excessIn(bytes);
    const said = excess === null ? parse(String(bytes)) : undefined;
    if (said === undefined) this.#hangUp(excess);
    else if (said.type === 'result') {
      this.#waiting.get(said.id)?.(said);
      this.#waiting.delete(said.id);
    }
  }

  #hangUp(excess: string | null): void {
    this.#excess ??= excess;
    this.#ws.terminate();
  }
}

/** Wherever redirects lead. Resolves to the version. Rejects with HomeAssistantTrouble. */
function signIn(ws: WebSocket, { url, token }: Address): Promise<string> {
  return new Promise((resolve, reject) => {
    const refuse = (...why: ConstructorParameters<typeof HomeAssistantTrouble>) =>
      reject(new HomeAssistantTrouble(...why));
    let version = '';
    let redirects = 0;
    let from = new URL(url);
    // Only to the same host, and never from wss: to ws:, because the token goes along.
    ws.on('redirect', (there) => {
      const to = new URL(there);
      redirects += 1;
      if (to.hostname !== from.hostname) refuse('moved', 'on another machine');
      else if (to.protocol === 'ws:' && from.protocol === 'wss:') refuse('moved', 'without encryption');
      else if (redirects > MOST_REDIRECTS) refuse('moved', 'in a circle');
      from = to;
    });
    ws.on('unexpected-response', (_request, { statusCode = 0 }) => reject(answered(statusCode)));
    ws.on('error', (err) => reject(whyUnreachable(err)));
    ws.on('close', () => refuse('unreachable', 'it closed the connection'));
    ws.on('message', (bytes) => {
      const said = excessIn(bytesOf(bytes)) === null ? parse(String(bytes)) : undefined;
      if (said?.type === 'auth_required') {
        const full = typeof said.ha_version === 'string' ? said.ha_version : '';
        version = /^\d{4}\.\d{1,2}\b/.exec(full)?.[0] ?? 'of unknown version';
        // Never send the token to a server that has not asked for it.
        if (isSince(2025, 11, version)) ws.send(JSON.stringify({ type: 'auth', access_token: token }));
        else refuse('too_old', version);
      } else if (said?.type === 'auth_ok') resolve(version);
      else if (said?.type === 'auth_invalid') refuse('token_refused');
      else refuse('no_home_assistant', 'it does not ask for a token');
    });
  });
}

/** A version that cannot be read may be a new way of writing it. */
export function isSince(year: number, month: number, version: string): boolean {
  const [itsYear = Number.NaN, itsMonth = 0] = version.split('.').map(Number);
  return !(itsYear * 12 + itsMonth < year * 12 + month);
}

/** They come as one buffer, unless another binary type is chosen. */
const bytesOf = (data: RawData): Buffer => data as Buffer;

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const said: unknown = JSON.parse(text);
    return typeof said === 'object' && said !== null ? { ...said } : undefined;
  } catch {
    return undefined;
  }
}

function answered(status: number): HomeAssistantTrouble {
  // A proxy, such as the Supervisor's, answers so while Home Assistant restarts behind it.
  if ([502, 503, 504].includes(status)) return new HomeAssistantTrouble('starting');
  if (status === 403) return new HomeAssistantTrouble('unreachable', 'it refuses this machine, HTTP 403');
  return new HomeAssistantTrouble('no_home_assistant', `HTTP ${status}`);
}

const UNTRUSTED = /^(CERT_|ERR_TLS_CERT|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_(GET|VERIFY))/;

function whyUnreachable(err: Error): HomeAssistantTrouble {
  // The address of a redirect, since the configured one has been checked.
  if (err instanceof SyntaxError) return new HomeAssistantTrouble('moved', 'one that cannot be read', err);
  const code = codeOf(err);
  if (code !== null && UNTRUSTED.test(code)) return new HomeAssistantTrouble('not_trusted', code, err);
  return new HomeAssistantTrouble('unreachable', code ?? 'no WebSocket', err);
}

// A conversation with Home Assistant over its WebSocket: sign-in, then one reply for each command, within a deadline.
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
/** Of `ws`: larger than it may be, and in more pieces. */
const EXCESSES: ReadonlyMap<unknown, string> = new Map([
  ['WS_ERR_UNSUPPORTED_MESSAGE_LENGTH', `more than ${LARGEST_JSON_BYTES / 1024 / 1024} MiB`],
  ['WS_ERR_TOO_MANY_BUFFERED_PARTS', 'too many pieces'],
]);

export type HomeAssistant = Awaited<ReturnType<typeof openHomeAssistant>>;

/** Rejects with HomeAssistantTrouble. The signal ends the connection, whatever is under way on it. */
export async function openHomeAssistant(address: Address, clock: Clock, signal: AbortSignal) {
  const { Connection } = await import('home-assistant-js-websocket');
  const { default: Socket } = await import('ws');
  const ws = new Socket(address.url, {
    maxPayload: LARGEST_JSON_BYTES,
    perMessageDeflate: false,
    followRedirects: true,
    headers: { 'user-agent': about.userAgent },
  });
  const hangUp = () => ws.terminate();
  signal.addEventListener('abort', hangUp);
  ws.on('close', () => signal.removeEventListener('abort', hangUp));
  if (signal.aborted) hangUp();

  async function inTime<T>(ms: number, doing: Promise<T>): Promise<T> {
    let cancel = () => {};
    const silence = new Promise<never>((_, reject) => {
      cancel = clock.after(ms, () => reject(new HomeAssistantTrouble('silent')));
    });
    return Promise.race([doing, silence]).finally(cancel);
  }

  const version = await inTime(SIGN_IN_MS, signIn(ws, address)).catch((err) => {
    hangUp();
    throw err;
  });
  /** What a message had too much of, which has ended the connection. */
  let excess: string | null = null;
  const end = (found: string) => {
    excess ??= found;
    hangUp();
  };
  const connection = new Connection(
    resultsOf(ws, end) as unknown as ConstructorParameters<typeof Connection>[0],
    // The caller decides when to connect again.
    { setupRetry: 0, createSocket: () => Promise.reject(new HomeAssistantTrouble('cut')) },
  );
  connection.addEventListener('disconnected', () => connection.close());
  return {
    /** Year and month: `2026.10`. */
    version,
    /** Resolves to the result, which has this shape. Rejects with HomeAssistantTrouble. */
    async send<T>(command: Command, shape: z.ZodType<T>): Promise<T> {
      const { type } = command;
      const reply = await inTime(REPLY_MS, connection.sendMessagePromise({ ...command })).catch((err) => {
        throw excess === null ? troubleWith(type, err) : new HomeAssistantTrouble('too_large', excess);
      });
      const { data, error } = shape.safeParse(reply);
      if (error) throw new HomeAssistantTrouble('strange', `to ${type}`);
      return data as T;
    },
    close: () => connection.close(),
  };
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
        version = /^\d{4}\.\d{1,2}\b/.exec(String(said.ha_version))?.[0] ?? 'of unknown version';
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

/** The part of a browser's WebSocket that the client needs. Nothing but results comes through it. */
function resultsOf(ws: WebSocket, onExcess: (excess: string) => void) {
  ws.removeAllListeners('message');
  ws.on('error', (err) => {
    const excess = EXCESSES.get('code' in err && err.code);
    if (excess !== undefined) onExcess(excess);
  });
  return {
    OPEN: ws.OPEN,
    get readyState() {
      return ws.readyState;
    },
    send: (text: string) => ws.send(text),
    close: () => ws.close(),
    addEventListener(type: string, listen: (event: { readonly data?: string }) => void) {
      if (type === 'close') ws.on('close', () => listen({}));
      if (type !== 'message') return;
      ws.on('message', (bytes) => {
        const excess = excessIn(bytesOf(bytes));
        if (excess !== null) return onExcess(excess);
        const data = String(bytes);
        const said = parse(data);
        // The client would throw on what is no JSON, and nothing catches that.
        if (said === undefined) ws.terminate();
        else if (said.type === 'result') listen({ data });
      });
    },
  };
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

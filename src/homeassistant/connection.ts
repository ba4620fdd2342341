// A conversation with Home Assistant over its WebSocket: sign-in, then one reply for each command, within a deadline.
import type { WebSocket } from 'ws';
import { about } from '../foundation/about.ts';
import { type Clock, deadline } from '../foundation/clock.ts';
import { HomeAssistantTrouble } from './trouble.ts';

/** A command of the WebSocket API, without its id. */
export interface Command {
  readonly type: string;
  readonly [key: string]: unknown;
}

interface Address {
  readonly url: string;
  readonly token: string;
}

const REPLY_MS = 60_000;
const SIGN_IN_MS = 15_000;
const MOST_REDIRECTS = 3;
const LARGEST_MESSAGE_BYTES = 16 * 1024 * 1024;
const OLDEST = [2025, 11] as const;

export type HomeAssistant = Awaited<ReturnType<typeof openHomeAssistant>>;

/** Rejects with HomeAssistantTrouble. The signal ends the connection, whatever is under way on it. */
export async function openHomeAssistant(address: Address, clock: Clock, signal: AbortSignal) {
  const { Connection } = await import('home-assistant-js-websocket');
  const { version, socket } = await openSocket(address, clock, signal);
  const connection = new Connection(
    socket as unknown as ConstructorParameters<typeof Connection>[0],
    // The caller decides when to connect again.
    { setupRetry: 0, createSocket: () => Promise.reject(new HomeAssistantTrouble('cut')) },
  );
  connection.addEventListener('disconnected', () => connection.close());
  return {
    /** Year and month: `2026.10`. */
    version,
    /** Resolves to the result. Rejects with HomeAssistantTrouble. */
    async send(command: Command): Promise<unknown> {
      const limit = deadline(clock, REPLY_MS);
      const silence = new Promise<never>((_, reject) => {
        limit.signal.addEventListener('abort', () => reject(new HomeAssistantTrouble('silent')));
      });
      try {
        return await Promise.race([connection.sendMessagePromise<unknown>({ ...command }), silence]);
      } catch (err) {
        throw troubleFrom(err);
      } finally {
        limit.clear();
      }
    },
    close: () => connection.close(),
  };
}

function troubleFrom(err: unknown): HomeAssistantTrouble {
  if (err instanceof HomeAssistantTrouble) return err;
  const code = typeof err === 'object' && err !== null && 'code' in err ? String(err.code) : undefined;
  // The client's own words for a lost connection have another shape.
  if (code === undefined) return new HomeAssistantTrouble('cut');
  if (code === 'unauthorized') return new HomeAssistantTrouble('not_admin');
  if (code === 'unknown_command') return new HomeAssistantTrouble('no_recorder');
  const isCode = /^[a-z_]{1,40}$/.test(code);
  return new HomeAssistantTrouble('refused', isCode ? code : 'without a known reason');
}

interface SignedIn {
  readonly version: string;
  readonly socket: ReturnType<typeof resultsOf>;
}

/** Signed in, wherever redirects lead. Rejects with HomeAssistantTrouble. */
async function openSocket(address: Address, clock: Clock, signal: AbortSignal): Promise<SignedIn> {
  let { url } = address;
  for (let hops = 0; hops <= MOST_REDIRECTS; hops++) {
    const opened = await signIn({ ...address, url }, clock, signal);
    if (typeof opened !== 'string') return opened;
    url = opened;
  }
  throw new HomeAssistantTrouble('moved', 'in a circle');
}

/** Resolves to the address to try instead when there is a redirect that may be followed. */
async function signIn(address: Address, clock: Clock, signal: AbortSignal): Promise<SignedIn | string> {
  const { default: Socket } = await import('ws');
  const ws = new Socket(address.url, {
    maxPayload: LARGEST_MESSAGE_BYTES,
    perMessageDeflate: false,
    headers: { 'user-agent': about.userAgent },
  });
  const limit = deadline(clock, SIGN_IN_MS);
  const hangUp = () => ws.terminate();
  signal.addEventListener('abort', hangUp);
  ws.on('close', () => signal.removeEventListener('abort', hangUp));
  if (signal.aborted) hangUp();
  try {
    return await new Promise<SignedIn | string>((resolve, reject) => {
      limit.signal.addEventListener('abort', () => reject(new HomeAssistantTrouble('silent')));
      ws.on('error', (err) => reject(whyUnreachable(err)));
      ws.on('close', () => reject(new HomeAssistantTrouble('unreachable', 'it closed the connection')));
      ws.on('unexpected-response', (_request, { statusCode = 0, headers }) => {
        try {
          resolve(redirect(address.url, statusCode, headers.location));
        } catch (err) {
          reject(err);
        }
        hangUp();
      });
      let version: unknown;
      ws.on('message', (bytes) => {
        const said = parse(String(bytes));
        version = said?.ha_version ?? version;
        if (said?.type === 'auth_required') {
          if (isTooOld(version)) reject(new HomeAssistantTrouble('too_old', shown(version)));
          // Never send the token to a server that has not asked for it.
          else ws.send(JSON.stringify({ type: 'auth', access_token: address.token }));
        } else if (said?.type === 'auth_ok') {
          if (isTooOld(version)) reject(new HomeAssistantTrouble('too_old', shown(version)));
          else resolve({ version: shown(version), socket: resultsOf(ws) });
        } else if (said?.type === 'auth_invalid') reject(new HomeAssistantTrouble('token_refused'));
        else reject(new HomeAssistantTrouble('no_home_assistant', 'it does not ask for a token'));
      });
    });
  } catch (err) {
    hangUp();
    throw err;
  } finally {
    limit.clear();
  }
}

/** The part of a browser's WebSocket that the client needs. Nothing but results comes through it. */
function resultsOf(ws: WebSocket) {
  ws.removeAllListeners('message');
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
        const data = String(bytes);
        const said = parse(data);
        // The client would throw on what is no JSON, and nothing catches that.
        if (said === undefined) ws.terminate();
        else if (said.type === 'result') listen({ data });
      });
    },
  };
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const said: unknown = JSON.parse(text);
    return typeof said === 'object' && said !== null ? { ...said } : undefined;
  } catch {
    return undefined;
  }
}

/** Only to the same host, and never from wss: to ws:, because the token goes along. */
function redirect(from: string, status: number, location: string | undefined): string {
  if (status < 300 || status >= 400 || location === undefined) throw answered(status);
  if (!URL.canParse(location, from)) throw new HomeAssistantTrouble('moved', 'one that cannot be read');
  const here = new URL(from);
  const there = new URL(location, from);
  const scheme = there.protocol.replace(/^http/, 'ws');
  if (there.hostname !== here.hostname) throw new HomeAssistantTrouble('moved', 'on another machine');
  if (scheme !== 'wss:' && (scheme !== 'ws:' || here.protocol === 'wss:'))
    throw new HomeAssistantTrouble('moved', 'without encryption');
  return there.href.replace(/^[^:]+:/, scheme);
}

function answered(status: number): HomeAssistantTrouble {
  // A proxy, such as the Supervisor's, answers so while Home Assistant restarts behind it.
  if ([502, 503, 504].includes(status)) return new HomeAssistantTrouble('starting');
  if (status === 403) return new HomeAssistantTrouble('unreachable', 'it refuses this machine, HTTP 403');
  return new HomeAssistantTrouble('no_home_assistant', `HTTP ${status}`);
}

const UNTRUSTED = /^(CERT_|ERR_TLS_CERT|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_(GET|VERIFY))/;

function whyUnreachable(err: Error): HomeAssistantTrouble {
  const code = 'code' in err ? String(err.code) : '';
  if (UNTRUSTED.test(code)) return new HomeAssistantTrouble('not_trusted', code, err);
  const isWord = /^[A-Z][A-Z0-9_]{2,40}$/.test(code);
  return new HomeAssistantTrouble('unreachable', isWord ? code : 'no WebSocket', err);
}

const numbers = (version: unknown): readonly number[] | undefined =>
  /^(\d{4})\.(\d{1,2})\b/.exec(String(version))?.slice(1).map(Number);

const shown = (version: unknown): string => numbers(version)?.join('.') ?? 'of unknown version';

/** A version that cannot be read may be a new way of writing it. */
function isTooOld(version: unknown): boolean {
  const [year, month] = numbers(version) ?? [];
  if (year === undefined || month === undefined) return false;
  return year < OLDEST[0] || (year === OLDEST[0] && month < OLDEST[1]);
}

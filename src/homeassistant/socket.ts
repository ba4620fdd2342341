// A socket to Home Assistant, signed in: redirects, versions and refusals are settled here. The only door to ws.
import type { WebSocket } from 'ws';
import { about } from '../foundation/about.ts';
import { type Clock, deadline } from '../foundation/clock.ts';
import { HomeAssistantTrouble } from './trouble.ts';

export interface Place {
  readonly url: string;
  readonly token: string;
}

/** As much of a browser's WebSocket as is wanted of it; nothing but results comes through it. */
export interface SignedInSocket {
  readonly haVersion: string;
  readonly readyState: number;
  readonly OPEN: number;
  send(text: string): void;
  close(): void;
  addEventListener(type: string, listen: (event: { readonly data?: string }) => void): void;
}

const SIGN_IN_MS = 15_000;
const MOST_REDIRECTS = 3;
const LARGEST_MESSAGE_BYTES = 16 * 1024 * 1024;
const OLDEST = [2025, 11] as const;

/** Rejects with HomeAssistantTrouble; a signal that aborts ends it as silent. */
export async function openSocket(place: Place, clock: Clock, signal: AbortSignal): Promise<SignedInSocket> {
  let { url } = place;
  for (let hops = 0; hops <= MOST_REDIRECTS; hops++) {
    const opened = await signIn({ ...place, url }, clock, signal);
    if (typeof opened !== 'string') return opened;
    url = opened;
  }
  throw new HomeAssistantTrouble('moved', 'round and round');
}

/** Resolves to the address to try instead when there is a redirect that may be followed. */
async function signIn(place: Place, clock: Clock, signal: AbortSignal): Promise<SignedInSocket | string> {
  const { default: Socket } = await import('ws');
  const ws = new Socket(place.url, {
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
    return await new Promise<SignedInSocket | string>((resolve, reject) => {
      limit.signal.addEventListener('abort', () => reject(new HomeAssistantTrouble('silent')));
      ws.on('error', (err) => reject(whyUnreachable(err)));
      ws.on('close', () => reject(new HomeAssistantTrouble('unreachable', 'it hung up')));
      ws.on('unexpected-response', (_request, { statusCode = 0, headers }) => {
        try {
          resolve(redirect(place.url, statusCode, headers.location));
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
          // The token goes to nobody who has not asked for it.
          else ws.send(JSON.stringify({ type: 'auth', access_token: place.token }));
        } else if (said?.type === 'auth_ok') {
          if (isTooOld(version)) reject(new HomeAssistantTrouble('too_old', shown(version)));
          else resolve(signedIn(ws, shown(version)));
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

function signedIn(ws: WebSocket, haVersion: string): SignedInSocket {
  ws.removeAllListeners('message');
  return {
    haVersion,
    OPEN: ws.OPEN,
    get readyState() {
      return ws.readyState;
    },
    send: (text) => ws.send(text),
    close: () => ws.close(),
    addEventListener(type, listen) {
      if (type === 'close') ws.on('close', () => listen({}));
      if (type !== 'message') return;
      ws.on('message', (bytes) => {
        const data = String(bytes);
        const said = parse(data);
        // What is no JSON would throw where nobody catches it.
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

/** To the same machine, and never from a secret way to a public one: the token would go along. */
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
  // The Supervisor's proxy, or one of your own, while Home Assistant restarts behind it.
  if ([502, 503, 504].includes(status)) return new HomeAssistantTrouble('starting');
  if (status === 403) return new HomeAssistantTrouble('unreachable', 'it lets this machine not in, HTTP 403');
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

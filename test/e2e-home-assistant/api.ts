// Home Assistant's own REST and WebSocket interfaces, as its frontend uses them.
import { WebSocket } from 'ws';
import { type Fields, isFields } from '../support/fields.ts';

export type Api = Awaited<ReturnType<typeof connect>>;

/** `url`: of the HTTP server. `token`: an access token, or one with a long life. */
export async function connect(url: string, token: string) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/api/websocket`);
  const waiting = new Map<number, (reply: Fields) => void>();
  let next = 1;
  const version = await new Promise<string>((resolve, reject) => {
    socket.on('error', reject);
    socket.on('close', () => {
      reject(new Error('closed'));
      for (const settle of waiting.values()) settle({ error: { code: 'closed' } });
    });
    socket.on('message', (text) => {
      const message = JSON.parse(String(text));
      if (message.type === 'auth_required')
        socket.send(JSON.stringify({ type: 'auth', access_token: token }));
      if (message.type === 'auth_ok') resolve(message.ha_version);
      if (message.type === 'auth_invalid') reject(new Error(message.message));
      if (message.type === 'result') waiting.get(message.id)?.(message);
    });
  });

  async function rest(method: 'GET' | 'POST', path: string, body?: Fields): Promise<unknown> {
    const reply = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`${method} ${path}: HTTP ${reply.status} ${text}`);
    return JSON.parse(text);
  }

  return {
    version,
    get: (path: string) => rest('GET', path),
    async post(path: string, body: Fields): Promise<Fields> {
      const reply = await rest('POST', path, body);
      return isFields(reply) ? reply : {};
    },
    /** A WebSocket command; rejects with what Home Assistant calls the error. */
    ask(type: string, fields: Fields = {}): Promise<unknown> {
      const id = next++;
      return new Promise((resolve, reject) => {
        waiting.set(id, ({ success, result, error }) => {
          waiting.delete(id);
          if (success) resolve(result);
          else reject(new Error(`${type}: ${JSON.stringify(error)}`));
        });
        socket.send(JSON.stringify({ id, type, ...fields }));
      });
    },
    stop: () => socket.terminate(),
  };
}

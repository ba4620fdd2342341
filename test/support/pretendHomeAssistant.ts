// A pretend Home Assistant on a real WebSocket: signs in, keeps statistics by Home Assistant's rules, and can be told to fail.
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { openPretendEnergy } from './pretendEnergy.ts';
import { type Fields, openPretendRecorder } from './pretendRecorder.ts';

export type PretendHomeAssistant = Awaited<ReturnType<typeof startPretendHomeAssistant>>;

export async function startPretendHomeAssistant(token = 'a-long-lived-token') {
  /** What it does at this moment; everything may be changed while it runs. */
  const switches = {
    token,
    isAdmin: true,
    version: '2026.10.1',
    /** As in its configuration: RUNNING, STARTING… */
    state: 'RUNNING',
    timezone: 'Europe/Dublin',
    hasRecorder: true,
    /** What was imported is not in the database before `commit()`. */
    slow: false,
    /** Answers to questions that came together are given in the opposite order. */
    outOfOrder: false,
    /** Nothing is answered. */
    mute: false,
    /** The answer to the next such question, instead of the right one. */
    instead: new Map<string, (socket: WebSocket, id: unknown) => void>(),
    /** The connection breaks after so many more imports, once. */
    cutAfterImports: Number.POSITIVE_INFINITY,
    /** The upgrade is answered with this status, and perhaps a Location. */
    httpStatus: null as number | null,
    location: null as string | null,
  };
  const recorder = openPretendRecorder(() => switches.slow);
  const energy = openPretendEnergy(() => switches);
  /** What stands below the bell, by id. */
  const notifications = new Map<string, Fields>();
  const asked: Fields[] = [];
  const tokens: string[] = [];
  const wires = new Set<Duplex>();
  let connections = 0;

  /** The result; throws what Home Assistant answers as its error. */
  function answer(message: Fields): unknown {
    const { type } = message;
    if (type === 'get_config') return { state: switches.state, time_zone: switches.timezone };
    if (type === 'auth/current_user') return { id: 'u', name: 'Somebody', is_admin: switches.isAdmin };
    if (type === 'persistent_notification/get')
      return [...notifications.values()].map((one) => ({ ...one, created_at: '2025-03-10T12:00:00+00:00' }));
    if (type === 'call_service') return callService(message);
    if (energy.knows(type)) return energy.answer(message);
    if (!switches.hasRecorder) throw { code: 'unknown_command' };
    if (type === 'recorder/import_statistics' && !switches.isAdmin) throw { code: 'unauthorized' };
    return recorder.answer(message);
  }

  function callService({ domain, service, service_data }: Fields): unknown {
    const { notification_id: id, message, title, ...more } = Object(service_data) as Fields;
    const isWhole = typeof id === 'string' && Object.keys(more).length === 0;
    if (domain !== 'persistent_notification' || !isWhole) throw { code: 'not_found' };
    if (service === 'create' && typeof message === 'string')
      notifications.set(id, { notification_id: id, message, title });
    else if (service === 'dismiss' && message === undefined) notifications.delete(id);
    else throw { code: 'invalid_format' };
    return { context: { id: 'c', parent_id: null, user_id: 'u' }, response: null };
  }

  function converse(socket: WebSocket): void {
    const say = (message: unknown) => socket.send(JSON.stringify(message));
    const ofVersion = { ha_version: switches.version };
    let isIn = false;
    let lastId = 0;
    const waiting: unknown[] = [];
    const sayLater = (message: unknown) => {
      waiting.push(message);
      setImmediate(() => {
        const all = waiting.splice(0);
        for (const one of switches.outOfOrder ? all.reverse() : all) say(one);
      });
    };
    say({ type: 'auth_required', ...ofVersion });
    socket.on('message', (bytes) => {
      const { id, ...message } = JSON.parse(String(bytes)) as Fields;
      if (!isIn) {
        tokens.push(String(message.access_token));
        isIn = message.access_token === switches.token;
        say(isIn ? { type: 'auth_ok', ...ofVersion } : { type: 'auth_invalid', message: 'Invalid token' });
        if (!isIn) socket.close();
        return;
      }
      if (message.type === 'supported_features' || switches.mute) return;
      asked.push(message);
      const type = String(message.type);
      if (Number(id) <= lastId)
        return sayLater({ id, type: 'result', success: false, error: { code: 'id_reuse' } });
      lastId = Number(id);
      const instead = switches.instead.get(type);
      switches.instead.delete(type);
      if (instead) return instead(socket, id);
      try {
        sayLater({ id, type: 'result', success: true, result: answer(message) });
      } catch (error) {
        sayLater({ id, type: 'result', success: false, error });
      }
      // Once: the next connection holds.
      if (type === 'recorder/import_statistics' && --switches.cutAfterImports === 0) socket.terminate();
    });
  }

  const server: Server = createServer((_request, response) => response.writeHead(404).end());
  const sockets = new WebSocketServer({ noServer: true });
  server.on('upgrade', (request: IncomingMessage, wire, head) => {
    connections += 1;
    wires.add(wire);
    wire.on('close', () => wires.delete(wire));
    wire.on('error', () => undefined);
    const status = request.url === '/api/websocket' ? switches.httpStatus : 404;
    if (status === null) {
      sockets.handleUpgrade(request, wire, head, converse);
      return;
    }
    const location = switches.location === null ? '' : `Location: ${switches.location}\r\n`;
    wire.end(`HTTP/1.1 ${status} Told So\r\n${location}Content-Length: 0\r\nConnection: close\r\n\r\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const cut = () => {
    for (const wire of wires) wire.destroy();
  };

  return {
    ...recorder,
    energy,
    url: `ws://127.0.0.1:${port}/api/websocket`,
    port,
    switches,
    notifications,
    /** Every question that came, without its id. */
    asked,
    /** Tokens that were offered. */
    tokens,
    get connections() {
      return connections;
    },
    /** Connections that are open now. */
    get open() {
      return wires.size;
    },
    /** How many rows each import brought. */
    imports: () =>
      asked
        .filter(({ type }) => type === 'recorder/import_statistics')
        .map(({ stats }) => (stats as unknown[]).length),
    /** Every connection breaks. */
    cut,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        cut();
      }),
  };
}

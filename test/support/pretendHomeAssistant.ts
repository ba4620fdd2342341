// A pretend Home Assistant on a real WebSocket: signs in, keeps statistics by Home Assistant's rules, and can be told to fail.
import { createServer, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Fields } from './fields.ts';
import { listening } from './listening.ts';
import { openPretendEnergy } from './pretendEnergy.ts';
import { type Answers, PretendRecorder, refuse } from './pretendRecorder.ts';

export async function startPretendHomeAssistant(token?: string): Promise<PretendHomeAssistant> {
  const home = new PretendHomeAssistant(token);
  await home.listen();
  return home;
}

export class PretendHomeAssistant {
  /** What it does at this moment; everything may be changed while it runs. */
  readonly switches = {
    token: '',
    isAdmin: true,
    version: '2026.10.1' as unknown,
    /** As in its configuration: RUNNING, STARTING… */
    state: 'RUNNING',
    timezone: 'Europe/Dublin',
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
  readonly energy = openPretendEnergy(this.switches);
  /** What stands below the bell, by id. */
  readonly notifications = new Map<string, Fields>();
  /** Every question that came, without its id. */
  readonly asked: Fields[] = [];
  /** Tokens that were offered. */
  readonly tokens: string[] = [];
  connections = 0;
  port = 0;
  readonly #recorder = new PretendRecorder(this.switches);
  readonly series = this.#recorder.series;
  readonly metadata = this.#recorder.metadata;
  readonly sensors = this.#recorder.sensors;
  readonly #wires = new Set<Duplex>();
  readonly #server = createServer((_request, response) => response.writeHead(404).end());
  readonly #sockets = new WebSocketServer({ noServer: true });
  readonly #answers: Answers = {
    get_config: () => ({ state: this.switches.state, time_zone: this.switches.timezone }),
    'auth/current_user': () => ({ id: 'u', name: 'Somebody', is_admin: this.switches.isAdmin }),
    'persistent_notification/get': () =>
      [...this.notifications.values()].map((one) => ({ ...one, created_at: '2025-03-10T12:00:00+00:00' })),
    call_service: (question) => this.#callService(question),
    ...this.#recorder.answers(),
    ...this.energy.answers,
  };

  constructor(token = 'a-long-lived-token') {
    this.switches.token = token;
    this.#server.on('upgrade', (request, wire, head) => this.#upgrade(request, wire, head));
  }

  async listen(): Promise<void> {
    this.port = await listening(this.#server);
  }

  get url(): string {
    return `ws://127.0.0.1:${this.port}/api/websocket`;
  }

  /** Connections that are open now. */
  get open(): number {
    return this.#wires.size;
  }

  commit(): void {
    this.#recorder.commit();
  }

  /** The rows of a series, oldest first. */
  rows(id: string) {
    return this.#recorder.rows(id);
  }

  /** How many rows each import brought. */
  imports(): number[] {
    const imports = this.asked.filter(({ type }) => type === 'recorder/import_statistics');
    return imports.map(({ stats }) => (stats as unknown[]).length);
  }

  /** `result` is the answer to the next question of this type. */
  answerNext(type: string, result: unknown): void {
    this.switches.instead.set(type, (socket, id) =>
      socket.send(JSON.stringify({ id, type: 'result', success: true, result })),
    );
  }

  /** Every connection breaks. */
  cut(): void {
    for (const wire of this.#wires) wire.destroy();
  }

  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.cut();
    });
  }

  #upgrade(request: IncomingMessage, wire: Duplex, head: Buffer): void {
    this.connections += 1;
    this.#wires.add(wire);
    wire.on('close', () => this.#wires.delete(wire));
    wire.on('error', () => undefined);
    const { httpStatus, location } = this.switches;
    const status = request.url === '/api/websocket' ? httpStatus : 404;
    if (status === null) {
      this.#sockets.handleUpgrade(request, wire, head, (socket) => this.#converse(socket));
      return;
    }
    const there = location === null ? '' : `Location: ${location}\r\n`;
    wire.end(`HTTP/1.1 ${status} Told So\r\n${there}Content-Length: 0\r\nConnection: close\r\n\r\n`);
  }

  #converse(socket: WebSocket): void {
    const say = (message: Fields) => socket.send(JSON.stringify(message));
    say({ type: 'auth_required', ha_version: this.switches.version });
    socket.once('message', (bytes) => {
      const { access_token: token } = JSON.parse(String(bytes)) as Fields;
      this.tokens.push(String(token));
      if (token !== this.switches.token) {
        say({ type: 'auth_invalid', message: 'Invalid token' });
        socket.close();
        return;
      }
      this.#answerQuestions(socket);
      say({ type: 'auth_ok', ha_version: this.switches.version });
    });
  }

  #answerQuestions(socket: WebSocket): void {
    const waiting: Fields[] = [];
    const sayLater = (message: Fields) => {
      waiting.push(message);
      setImmediate(() => {
        const messages = waiting.splice(0);
        if (this.switches.outOfOrder) messages.reverse();
        for (const one of messages) socket.send(JSON.stringify({ type: 'result', ...one }));
      });
    };
    let newestId = 0;
    socket.on('message', (bytes) => {
      const { id, ...question } = JSON.parse(String(bytes)) as Fields;
      if (this.switches.mute) return;
      this.asked.push(question);
      const isReused = Number(id) <= newestId;
      newestId = Number(id);
      const type = String(question.type);
      const instead = this.switches.instead.get(type);
      this.switches.instead.delete(type);
      if (isReused) sayLater({ id, success: false, error: { code: 'id_reuse' } });
      else if (instead) instead(socket, id);
      else sayLater({ id, ...this.#answer(type, question) });
      // Once: the next connection holds.
      if (type === 'recorder/import_statistics' && --this.switches.cutAfterImports === 0) socket.terminate();
    });
  }

  #answer(type: string, question: Fields): Fields {
    try {
      const answer = this.#answers[type] ?? refuse('unknown_command');
      return { success: true, result: answer(question) };
    } catch (error) {
      return { success: false, error };
    }
  }

  #callService({ domain, service, service_data }: Fields): unknown {
    const { notification_id: id, message, title, ...more } = Object(service_data) as Fields;
    const isWhole = typeof id === 'string' && Object.keys(more).length === 0;
    if (domain !== 'persistent_notification' || !isWhole) return refuse('not_found');
    if (service === 'create' && typeof message === 'string')
      this.notifications.set(id, { notification_id: id, message, title });
    else if (service === 'dismiss' && message === undefined) this.notifications.delete(id);
    else refuse('invalid_format');
    return { context: { id: 'c', parent_id: null, user_id: 'u' }, response: null };
  }
}

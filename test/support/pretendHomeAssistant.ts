// A pretend Home Assistant on a real WebSocket: signs in, keeps statistics by Home Assistant's rules, and can be told to fail.
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Fields } from './fields.ts';
import { listening } from './listening.ts';

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
  const energy = openPretendEnergy(() => switches.isAdmin);
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
  const port = await listening(server);
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
    /** `result` is the answer to the next question of this type. */
    answerNext: (type: string, result: unknown) =>
      void switches.instead.set(type, (socket, id) =>
        socket.send(JSON.stringify({ id, type: 'result', success: true, result })),
      ),
    /** Every connection breaks. */
    cut,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        cut();
      }),
  };
}

export interface KeptRow {
  readonly state: number;
  readonly sum: number;
}

/** A sensor whose hourly means are kept. */
interface PretendSensor {
  readonly unit: string | null;
  /** °C, whatever its unit; `null`: no row for the hour that begins then, epoch milliseconds. */
  readonly mean: (start: number) => number | null;
}

const HOUR_MS = 3_600_000;
/** With an offset. */
const ON_THE_HOUR = /T\d\d:00:00[+-]\d\d:\d\d$/;

/** `isSlow`: what is imported waits for `commit()`. */
function openPretendRecorder(isSlow: () => boolean) {
  /** By statistic id: rows by epoch milliseconds. */
  const series = new Map<string, Map<number, KeptRow>>();
  const metadata = new Map<string, Fields>();
  const sensors = new Map<string, PretendSensor>();
  const queue: Fields[] = [];

  /** Takes what was imported into the database. */
  function commit(): void {
    for (const { metadata: described, stats } of queue.splice(0)) {
      const { statistic_id: id } = described as { statistic_id: string };
      metadata.set(id, described as Fields);
      const rows = series.get(id) ?? new Map();
      series.set(id, rows);
      for (const { start, state, sum } of stats as { start: string; state: number; sum: number }[]) {
        rows.set(Date.parse(start), { state, sum });
      }
    }
  }

  function within(id: string, from: number, to: number) {
    return [...(series.get(id) ?? [])]
      .filter(([start]) => start >= from && start < to)
      .sort(([a], [b]) => a - b)
      .map(([start, row]) => ({ start, end: start + 3_600_000, ...row }));
  }

  function meansOf(id: string, from: number, to: number): Fields[] {
    const { mean } = sensors.get(id) ?? { mean: () => null };
    const starts = Array.from(
      { length: Math.max(0, Math.ceil((to - from) / HOUR_MS)) },
      (_, at) => (Math.ceil(from / HOUR_MS) + at) * HOUR_MS,
    );
    return starts.flatMap((start) => {
      const value = mean(start);
      return value === null || start >= to ? [] : [{ start, end: start + HOUR_MS, mean: value }];
    });
  }

  function inPeriod({ types, ...question }: Fields): Fields {
    const { start_time: start, end_time: end, statistic_ids: ids, period, units } = question;
    if (String(types) === 'mean') {
      if (period !== 'hour' || (units as Fields)?.temperature !== '°C') throw { code: 'invalid_format' };
      const [from, to] = [Date.parse(String(start)), Date.parse(String(end))];
      const rows = (ids as string[]).map((id) => [id, meansOf(id, from, to)] as const);
      return Object.fromEntries(rows.filter(([, found]) => found.length > 0));
    }
    if (period !== 'hour' || (units as Fields)?.energy !== 'kWh') throw { code: 'invalid_format' };
    const to = end === undefined ? Number.POSITIVE_INFINITY : Date.parse(String(end));
    const found = (ids as string[]).map((id) => [id, within(id, Date.parse(String(start)), to)] as const);
    return Object.fromEntries(found.filter(([, rows]) => rows.length > 0));
  }

  function described({ statistic_ids: ids }: Fields): Fields[] {
    const known = (ids as string[]).map((id) => metadata.get(id)).filter((one) => one !== undefined);
    const measured = (ids as string[]).flatMap((id) => {
      const unit = sensors.get(id)?.unit;
      const described = {
        statistic_id: id,
        source: 'recorder',
        has_mean: true,
        mean_type: 1,
        has_sum: false,
      };
      return unit === undefined ? [] : [{ ...described, name: null, statistics_unit_of_measurement: unit }];
    });
    const imported = known.map(({ unit_of_measurement: unit, ...rest }) => ({
      ...rest,
      statistics_unit_of_measurement: unit,
      display_unit_of_measurement: unit,
    }));
    return [...imported, ...measured];
  }

  return {
    series,
    metadata,
    /** By entity id. */
    sensors,
    commit,
    /** The rows of a series, oldest first. */
    rows: (id: string) =>
      within(id, 0, Number.POSITIVE_INFINITY).map(
        ({ start, state, sum }): [start: string, state: number, sum: number] => [
          new Date(start).toISOString(),
          state,
          sum,
        ],
      ),
    /** The result of a `recorder/…` question; throws what Home Assistant answers as its error. */
    answer(question: Fields): unknown {
      switch (question.type) {
        case 'recorder/info':
          return { backlog: queue.length, thread_running: true, migration_in_progress: false };
        case 'recorder/get_statistics_metadata':
          return described(question);
        case 'recorder/statistics_during_period':
          return inPeriod(question);
        case 'recorder/import_statistics': {
          const rows = question.stats as readonly { readonly start: string }[];
          if (!rows.every(({ start }) => ON_THE_HOUR.test(start))) throw { code: 'invalid_format' };
          queue.push(question);
          if (!isSlow()) commit();
          return null;
        }
        default:
          throw { code: 'unknown_command' };
      }
    },
  };
}

/** `isAdmin`: whether who asks is one. */
function openPretendEnergy(isAdmin: () => boolean) {
  const kept = {
    /** `null`: nobody has set the dashboard up. */
    preferences: null as Fields | null,
    registry: [] as Fields[],
    isLoaded: true,
  };

  function save({ type: _, ...update }: Fields): unknown {
    if (!isAdmin()) throw { code: 'unauthorized' };
    const { energy_sources: sources } = update;
    if (!Array.isArray(sources) || Object.keys(update).length > 1) throw { code: 'invalid_format' };
    kept.preferences = {
      device_consumption: [],
      device_consumption_water: [],
      ...kept.preferences,
      energy_sources: sources,
    };
    return kept.preferences;
  }

  return {
    kept,
    knows: (type: unknown) => type === 'config/entity_registry/list' || String(type).startsWith('energy/'),
    answer(question: Fields): unknown {
      if (question.type === 'config/entity_registry/list') return kept.registry;
      if (kept.isLoaded && question.type === 'energy/save_prefs') return save(question);
      if (!kept.isLoaded || question.type !== 'energy/get_prefs') throw { code: 'unknown_command' };
      if (kept.preferences === null) throw { code: 'not_found' };
      return kept.preferences;
    },
  };
}

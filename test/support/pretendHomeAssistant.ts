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
  const { answers: ofRecorder, ...recorder } = openPretendRecorder(switches);
  const energy = openPretendEnergy(switches);
  /** What stands below the bell, by id. */
  const notifications = new Map<string, Fields>();
  const asked: Fields[] = [];
  const tokens: string[] = [];
  const wires = new Set<Duplex>();
  let connections = 0;

  const answers: Answers = {
    get_config: () => ({ state: switches.state, time_zone: switches.timezone }),
    'auth/current_user': () => ({ id: 'u', name: 'Somebody', is_admin: switches.isAdmin }),
    'persistent_notification/get': () =>
      [...notifications.values()].map((one) => ({ ...one, created_at: '2025-03-10T12:00:00+00:00' })),
    call_service: callService,
    ...ofRecorder,
    ...energy.answers,
  };

  function callService({ domain, service, service_data }: Fields): unknown {
    const { notification_id: id, message, title, ...more } = Object(service_data) as Fields;
    const isWhole = typeof id === 'string' && Object.keys(more).length === 0;
    if (domain !== 'persistent_notification' || !isWhole) return refuse('not_found');
    if (service === 'create' && typeof message === 'string')
      notifications.set(id, { notification_id: id, message, title });
    else if (service === 'dismiss' && message === undefined) notifications.delete(id);
    else refuse('invalid_format');
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
        const answer = answers[type] ?? refuse('unknown_command');
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

/** By the type of the question: the result. What is thrown is told as the error. */
type Answers = Readonly<Record<string, (question: Fields) => unknown>>;

function refuse(code: string): never {
  throw { code };
}

const HOUR_MS = 3_600_000;
const PERIODS: readonly unknown[] = ['hour', 'month'];
/** With an offset. */
const ON_THE_HOUR = /T\d\d:00:00[+-]\d\d:\d\d$/;

function openPretendRecorder(switches: { readonly slow: boolean; readonly isAdmin: boolean }) {
  /** By statistic id: rows by epoch milliseconds. */
  const series = new Map<string, Map<number, { readonly state: number; readonly sum: number }>>();
  const metadata = new Map<string, Fields>();
  /** By entity id: °C, whatever the unit; `null`: no row for the hour that begins then, epoch milliseconds. */
  const sensors = new Map<string, { unit: string | null; mean: (start: number) => number | null }>();
  const queue: Fields[] = [];

  /** Takes what was imported into the database. */
  function commit(): void {
    for (const { metadata: described, stats } of queue.splice(0)) {
      const { statistic_id: id } = described as { statistic_id: string };
      metadata.set(id, described as Fields);
      const rows = series.get(id) ?? new Map();
      series.set(id, rows);
      for (const { start, state, sum } of stats as { start: string; state: number; sum: number }[])
        rows.set(Date.parse(start), { state, sum });
    }
  }

  /** Oldest first. */
  const kept = (id: string, from = 0, to = Number.POSITIVE_INFINITY) =>
    [...(series.get(id) ?? [])]
      .filter(([start]) => start >= from && start < to)
      .sort(([a], [b]) => a - b)
      .map(([start, row]) => ({ start, end: start + HOUR_MS, ...row }));

  function means(id: string, from: number, to: number): Fields[] {
    const found: Fields[] = [];
    for (let start = Math.ceil(from / HOUR_MS) * HOUR_MS; start < to; start += HOUR_MS) {
      const mean = sensors.get(id)?.mean(start) ?? null;
      if (mean !== null) found.push({ start, end: start + HOUR_MS, mean });
    }
    return found;
  }

  function inPeriod({ types, start_time, end_time, statistic_ids, period, units }: Fields): Fields {
    const areMeans = String(types) === 'mean';
    const { energy, temperature } = Object(units);
    if (!PERIODS.includes(period) || (areMeans ? temperature !== '°C' : energy !== 'kWh'))
      refuse('invalid_format');
    const from = Date.parse(String(start_time));
    const to = end_time === undefined ? undefined : Date.parse(String(end_time));
    const hoursOf = (id: string) => (areMeans ? means(id, from, to ?? from) : kept(id, from, to));
    const rowsOf = (id: string) => (period === 'hour' ? hoursOf(id) : monthsOf(hoursOf(id)));
    const found = (statistic_ids as string[]).map((id) => [id, rowsOf(id)] as const);
    return Object.fromEntries(found.filter(([, rows]) => rows.length > 0));
  }

  /** The last row of each month of UTC. */
  function monthsOf(rows: readonly Fields[]): Fields[] {
    const months = rows.map((row): [number, Fields] => {
      const at = new Date(Number(row.start));
      const monthAt = (further: number) => Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + further, 1);
      return [monthAt(0), { ...row, start: monthAt(0), end: monthAt(1) }];
    });
    return [...new Map(months).values()];
  }

  function described(id: string): Fields[] {
    const measured = { source: 'recorder', has_mean: true, mean_type: 1, has_sum: false, name: null };
    const sensor = sensors.get(id);
    if (sensor) return [{ statistic_id: id, ...measured, statistics_unit_of_measurement: sensor.unit }];
    const imported = metadata.get(id);
    if (!imported) return [];
    const { unit_of_measurement: unit, ...rest } = imported;
    return [{ ...rest, statistics_unit_of_measurement: unit, display_unit_of_measurement: unit }];
  }

  return {
    series,
    metadata,
    sensors,
    commit,
    /** The rows of a series, oldest first. */
    rows: (id: string) =>
      kept(id).map(({ start, state, sum }) => [new Date(start).toISOString(), state, sum] as const),
    answers: {
      'recorder/info': () => ({
        backlog: queue.length,
        thread_running: true,
        migration_in_progress: false,
      }),
      'recorder/get_statistics_metadata': ({ statistic_ids }) =>
        (statistic_ids as string[]).flatMap(described),
      'recorder/statistics_during_period': inPeriod,
      'recorder/import_statistics'(question) {
        if (!switches.isAdmin) refuse('unauthorized');
        const rows = question.stats as readonly { readonly start: string }[];
        if (!rows.every(({ start }) => ON_THE_HOUR.test(start))) refuse('invalid_format');
        queue.push(question);
        if (!switches.slow) commit();
        return null;
      },
    } satisfies Answers,
  };
}

function openPretendEnergy(switches: { readonly isAdmin: boolean }) {
  const kept = {
    /** `null`: nobody has set the dashboard up. */
    preferences: null as Fields | null,
    registry: [] as Fields[],
    isLoaded: true,
  };
  const answers: Answers = {
    'config/entity_registry/list_for_display': () => {
      const enabled = kept.registry.filter(({ disabled_by }) => disabled_by === null);
      return {
        entity_categories: {},
        entities: enabled.map((one) => ({ ei: one.entity_id, pl: one.platform })),
      };
    },
    'config/entity_registry/get_entries': ({ entity_ids }) =>
      Object.fromEntries(
        (entity_ids as string[]).map((id) => [id, kept.registry.find((one) => one.entity_id === id) ?? null]),
      ),
    'energy/get_prefs'() {
      if (!kept.isLoaded) refuse('unknown_command');
      return kept.preferences ?? refuse('not_found');
    },
    'energy/save_prefs'({ type: _, ...update }) {
      if (!kept.isLoaded) refuse('unknown_command');
      if (!switches.isAdmin) refuse('unauthorized');
      const { energy_sources, ...others } = update;
      if (!Array.isArray(energy_sources) || Object.keys(others).length > 0) refuse('invalid_format');
      const usual = { device_consumption: [], device_consumption_water: [] };
      kept.preferences = { ...usual, ...kept.preferences, energy_sources };
      return kept.preferences;
    },
  };
  return { kept, answers };
}

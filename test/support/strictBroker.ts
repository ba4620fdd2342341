// A broker that takes nothing on trust: what it announces and refuses is told by the test, and it passes nothing on.
import type { Socket } from 'node:net';
import { openStack } from './stack.ts';
import { openWire } from './wire.ts';

const CONNECT = 1;
const PUBLISH = 3;
const SUBSCRIBE = 8;
const UNSUBSCRIBE = 10;

/** In place of a verdict: the packet gets no answer. */
export const SILENCE = -1;

/** Announced in the CONNACK of MQTT 5; what is not given is not announced. */
export interface Announced {
  readonly receiveMaximum?: number;
  readonly maximumQos?: 0 | 1;
  readonly retainAvailable?: 0 | 1;
  readonly maximumPacketSize?: number;
  readonly wildcards?: 0 | 1;
  readonly shared?: 0 | 1;
  readonly topicAliasMaximum?: number;
}

/** A client asks for this with its CONNECT. */
export interface Asked {
  readonly level: number;
  /** `null`: it has none. */
  readonly will: { readonly qos: number; readonly retain: boolean } | null;
}

export interface Taken {
  readonly topic: string;
  readonly payload: string;
  readonly qos: number;
  readonly retain: boolean;
}

/** A reason code; `null`: the connection is cut instead; `dismiss`: it is ended with a DISCONNECT. */
type Verdict = number | null | { readonly dismiss: number };

export interface Verdicts {
  readonly connect?: (asked: Asked) => number | null;
  readonly publish?: (topic: string) => Verdict;
  readonly subscribe?: (filter: string) => Verdict;
  readonly announced?: Announced;
  /** MQTT 5: said beside each code that refuses, as reason string, user property and server reference. */
  readonly words?: string;
}

export async function startStrictBroker(verdicts: Verdicts = {}) {
  const { connect = () => 0, publish = () => 0, subscribe = () => 1, announced = {} } = verdicts;
  const reason = reasonSaid(verdicts.words);
  const reference = referenceSaid(verdicts.words);
  const toCode = (code: number) => (code >= 0x80 ? reason : []);
  const taken: Taken[] = [];
  const connects: Asked[] = [];
  const subscribed: string[] = [];
  const held: (() => void)[] = [];
  const counts = { isHolding: false, unanswered: 0, mostUnanswered: 0 };
  const wire = openStack().use(
    await openWire(undefined, (socket, bytes) => {
      for (const packet of packetsOf(socket, bytes)) {
        if (packet.type === CONNECT) onConnect(socket, packet);
        if (packet.type === PUBLISH) onPublish(socket, packet);
        if (packet.type === SUBSCRIBE) onSubscribe(socket, packet);
        if (packet.type === UNSUBSCRIBE) onUnsubscribe(socket, packet);
      }
    }),
  );

  function onConnect(socket: Socket, { body, level }: Packet): void {
    const flags = body[7] ?? 0;
    const will = flags & 4 ? { qos: (flags >> 3) & 3, retain: (flags & 32) !== 0 } : null;
    connects.push({ level, will });
    // Each connection begins anew.
    counts.unanswered = 0;
    const code = connect({ level, will });
    if (code === null) return void socket.destroy();
    const properties = code === 0 ? written(announced) : [...reason, ...reference];
    send(socket, 0x20, level === 4 ? [0, code] : [0, code, properties.length, ...properties]);
    if (code > 0) socket.end();
  }

  function onPublish(socket: Socket, packet: Packet): void {
    const message = publishIn(packet);
    const { topic, qos, id } = message;
    const code = publish(topic);
    if (typeof code !== 'number') return void end(socket, code);
    if (code < 0x80) taken.push({ topic, payload: message.payload, qos, retain: message.retain });
    if (qos === 0) return;
    counts.unanswered += 1;
    counts.mostUnanswered = Math.max(counts.mostUnanswered, counts.unanswered);
    const answer = () => {
      counts.unanswered -= 1;
      const properties = toCode(code);
      send(socket, 0x40, [...id, ...(packet.level === 4 ? [] : [code, properties.length, ...properties])]);
    };
    if (counts.isHolding) held.push(answer);
    else answer();
  }

  function onSubscribe(socket: Socket, { body, level }: Packet): void {
    const filters = filtersIn(body, level);
    subscribed.push(...filters);
    const granted: number[] = [];
    for (const verdict of filters.map(subscribe)) {
      if (typeof verdict !== 'number') return void end(socket, verdict);
      if (verdict === SILENCE) return;
      granted.push(level === 4 && verdict >= 0x80 ? 0x80 : verdict);
    }
    const properties = toCode(Math.max(...granted));
    const said = level === 4 ? [] : [properties.length, ...properties];
    send(socket, 0x90, [...body.subarray(0, 2), ...said, ...granted]);
  }

  function onUnsubscribe(socket: Socket, { body, level }: Packet): void {
    const done = level === 4 ? [] : [0, ...filtersIn(body, level, 0).map(() => 0)];
    send(socket, 0xb0, [...body.subarray(0, 2), ...done]);
  }

  return {
    url: wire.url,
    /** The messages that it has taken. */
    taken: taken as readonly Taken[],
    topics: () => taken.map(({ topic }) => topic),
    connects: connects as readonly Asked[],
    /** Every filter that was asked for. */
    subscribed: subscribed as readonly string[],
    get connections() {
      return wire.attempts;
    },
    get mostUnanswered() {
      return counts.mostUnanswered;
    },
    get unanswered() {
      return counts.unanswered;
    },
    /** From now on no PUBLISH is answered, until `answer`. */
    hold(): void {
      counts.isHolding = true;
    },
    /** Answers so many of those that wait, the oldest first. */
    answer(count: number): void {
      for (const answer of held.splice(0, count)) answer();
    },
    cut: wire.cut,
    /** Ends all connections with a DISCONNECT. */
    dismiss(code: number): void {
      const properties = [...reason, ...reference];
      const length = properties.length + 2;
      wire.sayAndEnd(Buffer.from([0xe0, length, code, properties.length, ...properties]));
    },
  };
}

const stringOf = (text: string): number[] => {
  const bytes = Buffer.from(text);
  return [0, bytes.length, ...bytes];
};
/** Short enough for a length of one byte. */
function reasonSaid(words: string | undefined): number[] {
  return words === undefined ? [] : [0x1f, ...stringOf(words), 0x26, ...stringOf('who'), ...stringOf(words)];
}
const referenceSaid = (words: string | undefined): number[] =>
  words === undefined ? [] : [0x1c, ...stringOf(words)];

function end(socket: Socket, how: null | { readonly dismiss: number }): void {
  if (how === null) socket.destroy();
  else socket.end(Buffer.from([0xe0, 2, how.dismiss, 0]));
}

function send(socket: Socket, head: number, body: readonly number[]): void {
  socket.write(Buffer.from([head, body.length, ...body]));
}

/** As properties of MQTT 5. */
function written({
  receiveMaximum,
  maximumQos,
  retainAvailable,
  maximumPacketSize,
  wildcards,
  shared,
  topicAliasMaximum,
}: Announced): number[] {
  const property = (id: number, bytes: number, value: number | undefined): number[] => {
    if (value === undefined) return [];
    const all = Buffer.alloc(bytes);
    all.writeUIntBE(value, 0, bytes);
    return [id, ...all];
  };
  return [
    ...property(0x21, 2, receiveMaximum),
    ...property(0x24, 1, maximumQos),
    ...property(0x25, 1, retainAvailable),
    ...property(0x27, 4, maximumPacketSize),
    ...property(0x28, 1, wildcards),
    ...property(0x2a, 1, shared),
    ...property(0x22, 2, topicAliasMaximum),
  ];
}

interface Packet {
  readonly type: number;
  readonly flags: number;
  readonly body: Buffer;
  readonly level: number;
}

/** The place behind properties, which begin with their length. */
function behindProperties(body: Buffer, at: number, level: number): number {
  // Ours are short.
  return level === 4 ? at : at + 1 + (body[at] ?? 0);
}

function publishIn({ body, flags, level }: Packet) {
  const qos = (flags >> 1) & 3;
  const end = 2 + body.readUInt16BE(0);
  const afterId = end + (qos > 0 ? 2 : 0);
  return {
    topic: body.toString('utf8', 2, end),
    id: [...body.subarray(end, afterId)],
    payload: body.toString('utf8', behindProperties(body, afterId, level)),
    qos,
    retain: (flags & 1) !== 0,
  };
}

/** Behind each filter of a SUBSCRIBE is a byte of options. */
function filtersIn(body: Buffer, level: number, optionBytes = 1): string[] {
  const filters: string[] = [];
  for (let at = behindProperties(body, 2, level); at < body.length; ) {
    const end = at + 2 + body.readUInt16BE(at);
    filters.push(body.toString('utf8', at + 2, end));
    at = end + optionBytes;
  }
  return filters;
}

const unread = new WeakMap<object, { bytes: Buffer; level: number }>();

/** The packets that are whole; what is left waits for more. */
function* packetsOf(socket: object, more: Buffer): Generator<Packet> {
  const state = unread.get(socket) ?? { bytes: Buffer.alloc(0), level: 0 };
  unread.set(socket, state);
  state.bytes = Buffer.concat([state.bytes, more]);
  for (;;) {
    let [at, length, digit] = [1, 0, 0x80];
    for (; digit >= 0x80; at += 1) {
      digit = state.bytes[at] ?? 0;
      length += (digit & 0x7f) * 128 ** (at - 1);
    }
    const { bytes } = state;
    if (bytes.length < at + length || bytes.length < 2) return;
    const body = bytes.subarray(at, at + length);
    state.bytes = bytes.subarray(at + length);
    const head = bytes[0] ?? 0;
    const type = head >> 4;
    if (type === CONNECT) state.level = body[6] ?? 0;
    yield { type, flags: head & 0xf, body, level: state.level };
  }
}

// A broker that takes nothing on trust: what it announces and refuses is told by the test, and it passes nothing on.
import type { Socket } from 'node:net';
import { type Packet, PacketsHeard, text } from './packets.ts';
import { openStack } from './stack.ts';
import { openWire, type Wire } from './wire.ts';

const CONNECT = 1;
const PUBLISH = 3;
const SUBSCRIBE = 8;
const UNSUBSCRIBE = 10;
const PINGREQ = 12;
const DISCONNECT = 0xe0;
const FIRST_REFUSAL = 0x80;

/** In place of a verdict: the packet gets no answer. */
export const SILENCE = -1;

/** Properties of the CONNACK of MQTT 5: how many bytes each has, and its number. */
const PROPERTIES = {
  receiveMaximum: [2, 0x21],
  maximumQos: [1, 0x24],
  retainAvailable: [1, 0x25],
  maximumPacketSize: [4, 0x27],
  wildcards: [1, 0x28],
  shared: [1, 0x2a],
  topicAliasMaximum: [2, 0x22],
  serverKeepAlive: [2, 0x13],
} as const;

/** Announced in the CONNACK of MQTT 5; what is not given is not announced. */
export type Announced = { readonly [Name in keyof typeof PROPERTIES]?: number };

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
  readonly publish?: (topic: string, connections: number) => Verdict;
  readonly subscribe?: (filter: string, connections: number) => Verdict;
  readonly announced?: Announced;
  /** MQTT 5: said beside each code that refuses, as reason string, user property and server reference. */
  readonly words?: string;
}

/** Begins anew with each connection. */
interface Client {
  readonly socket: Socket;
  readonly heard: PacketsHeard;
  level: number;
}

export async function startStrictBroker(verdicts: Verdicts = {}): Promise<StrictBroker> {
  const broker: StrictBroker = new StrictBroker(
    verdicts,
    openStack().use(await openWire(undefined, (socket, bytes) => broker.hear(socket, bytes))),
  );
  return broker;
}

export class StrictBroker {
  readonly taken: Taken[] = [];
  readonly connects: Asked[] = [];
  /** Every filter that was asked for. */
  readonly subscribed: string[] = [];
  /** SUBSCRIBE packets. */
  questions = 0;
  pings = 0;
  unanswered = 0;
  mostUnanswered = 0;
  readonly #verdicts: Verdicts;
  readonly #wire: Wire;
  readonly #clients = new WeakMap<Socket, Client>();
  readonly #held: (() => void)[] = [];
  #isHolding = false;

  constructor(verdicts: Verdicts, wire: Wire) {
    this.#verdicts = verdicts;
    this.#wire = wire;
  }

  get url(): string {
    return this.#wire.url;
  }

  get connections(): number {
    return this.#wire.attempts;
  }

  topics(): string[] {
    return this.taken.map(({ topic }) => topic);
  }

  /** From now on no PUBLISH is answered, until `answer`. */
  hold(): void {
    this.#isHolding = true;
  }

  /** Answers so many of those that wait, the oldest first; a negative number: so many of the newest. */
  answer(count: number): void {
    const answers = count < 0 ? this.#held.splice(count) : this.#held.splice(0, count);
    for (const answer of answers) answer();
  }

  cut(): void {
    this.#wire.cut();
  }

  /** Ends all connections with a DISCONNECT. */
  dismiss(code: number): void {
    this.#wire.sayAndEnd(
      packetOf(DISCONNECT, [code, ...sized([...this.#reason(code), ...this.#reference()])]),
    );
  }

  hear(socket: Socket, bytes: Buffer): void {
    const client = this.#clients.get(socket) ?? { socket, heard: new PacketsHeard(), level: 0 };
    this.#clients.set(socket, client);
    for (const packet of client.heard.take(bytes)) {
      const type = packet.type >> 4;
      if (type === CONNECT) this.#onConnect(client, packet.body);
      if (type === PUBLISH) this.#onPublish(client, packet);
      if (type === SUBSCRIBE) this.#onSubscribe(client, packet.body);
      if (type === UNSUBSCRIBE) this.#onUnsubscribe(client, packet.body);
      if (type === PINGREQ) {
        this.pings += 1;
        socket.write(packetOf(0xd0, []));
      }
    }
  }

  #onConnect(client: Client, body: Buffer): void {
    const { connect = () => 0, announced = {} } = this.#verdicts;
    const level = body.readUInt8(6);
    const flags = body.readUInt8(7);
    const asked = { level, will: flags & 4 ? { qos: (flags >> 3) & 3, retain: (flags & 32) !== 0 } : null };
    this.connects.push(asked);
    client.level = level;
    this.unanswered = 0;
    const code = connect(asked);
    if (code === null) return void client.socket.destroy();
    say(
      client,
      0x20,
      [0, code],
      code === 0 ? written(announced) : [...this.#reason(code), ...this.#reference()],
    );
    if (code > 0) client.socket.end();
  }

  #onPublish(client: Client, packet: Packet): void {
    const { publish = () => 0 } = this.#verdicts;
    const { id, ...message } = publishIn(packet, client.level);
    const code = publish(message.topic, this.connections);
    if (typeof code !== 'number') return void end(client, code);
    if (code < FIRST_REFUSAL) this.taken.push(message);
    if (message.qos === 0) return;
    this.unanswered += 1;
    this.mostUnanswered = Math.max(this.mostUnanswered, this.unanswered);
    const answer = () => {
      this.unanswered -= 1;
      say(client, 0x40, client.level === 4 ? id : [...id, code], this.#reason(code));
    };
    if (this.#isHolding) this.#held.push(answer);
    else answer();
  }

  #onSubscribe(client: Client, body: Buffer): void {
    const { subscribe = () => 1 } = this.#verdicts;
    const filters = filtersIn(body, client.level);
    this.questions += 1;
    this.subscribed.push(...filters);
    const granted: number[] = [];
    for (const verdict of filters.map((filter) => subscribe(filter, this.connections))) {
      if (typeof verdict !== 'number') return void end(client, verdict);
      if (verdict === SILENCE) return;
      granted.push(client.level === 4 && verdict >= FIRST_REFUSAL ? FIRST_REFUSAL : verdict);
    }
    say(client, 0x90, [...body.subarray(0, 2)], this.#reason(Math.max(...granted)), granted);
  }

  #onUnsubscribe(client: Client, body: Buffer): void {
    const codes = client.level === 4 ? [] : filtersIn(body, client.level, 0).map(() => 0);
    say(client, 0xb0, [...body.subarray(0, 2)], [], codes);
  }

  /** As reason string and user property, beside a code that refuses. */
  #reason(code: number): number[] {
    const { words } = this.#verdicts;
    if (words === undefined || code < FIRST_REFUSAL) return [];
    return [0x1f, ...text(words), 0x26, ...text('who'), ...text(words)];
  }

  #reference(): number[] {
    const { words } = this.#verdicts;
    return words === undefined ? [] : [0x1c, ...text(words)];
  }
}

/** Lengths are short enough for one byte. */
const sized = (bytes: readonly number[]): number[] => [bytes.length, ...bytes];
const packetOf = (type: number, body: readonly number[]): Buffer => Buffer.from([type, ...sized(body)]);

/** MQTT 5 has properties between what 3.1.1 says. */
function say(
  { socket, level }: Client,
  type: number,
  before: readonly number[],
  properties: readonly number[],
  after: readonly number[] = [],
): void {
  socket.write(packetOf(type, [...before, ...(level === 4 ? [] : sized(properties)), ...after]));
}

function end({ socket }: Client, how: null | { readonly dismiss: number }): void {
  if (how === null) socket.destroy();
  else socket.end(packetOf(DISCONNECT, [how.dismiss, 0]));
}

function written(announced: Announced): number[] {
  return Object.entries(PROPERTIES).flatMap(([name, [bytes, id]]) => {
    const value = announced[name as keyof Announced];
    if (value === undefined) return [];
    const number = Buffer.alloc(bytes);
    number.writeUIntBE(value, 0, bytes);
    return [id, ...number];
  });
}

/** The place behind properties, which begin with their length. */
const behindProperties = (body: Buffer, at: number, level: number): number =>
  level === 4 ? at : at + 1 + (body[at] ?? 0);

function publishIn({ type, body }: Packet, level: number) {
  const qos = (type >> 1) & 3;
  const end = 2 + body.readUInt16BE(0);
  const afterId = end + (qos > 0 ? 2 : 0);
  return {
    topic: body.toString('utf8', 2, end),
    id: [...body.subarray(end, afterId)],
    payload: body.toString('utf8', behindProperties(body, afterId, level)),
    qos,
    retain: (type & 1) !== 0,
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

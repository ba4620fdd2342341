// A broker that takes nothing on trust: what it answers to each PUBLISH is told by the test, and it passes nothing on.
import { openStack } from './stack.ts';
import { openWire } from './wire.ts';

const [CONNECT, PUBLISH, SUBSCRIBE] = [1, 3, 8];

/** `verdict`: the reason code for a topic; `null` cuts the connection. `limit`: of a packet, announced under MQTT 5. */
export async function startStrictBroker(verdict: (topic: string) => number | null, limit?: number) {
  const taken: string[] = [];
  const wire = openStack().use(
    await openWire(undefined, (socket, bytes) => {
      for (const { type, body, level } of packetsOf(socket, bytes)) {
        const isOld = level === 4;
        const announced = limit === undefined ? [0] : [5, 0x27, 0, 0, limit >> 8, limit & 0xff];
        if (type === CONNECT) send(0x20, isOld ? [0, 0] : [0, 0, ...announced]);
        if (type === SUBSCRIBE) send(0x90, [...body.subarray(0, 2), ...(isOld ? [1] : [0, 1])]);
        if (type !== PUBLISH) continue;
        const end = 2 + body.readUInt16BE(0);
        const topic = body.toString('utf8', 2, end);
        const reason = verdict(topic);
        if (reason === null) return void socket.destroy();
        if (reason < 0x80) taken.push(topic);
        send(0x40, [...body.subarray(end, end + 2), ...(isOld ? [] : [reason, 0])]);
      }
      function send(head: number, body: readonly number[]): void {
        socket.write(Buffer.from([head, body.length, ...body]));
      }
    }),
  );
  return {
    url: wire.url,
    /** Topics of the messages that it has acknowledged. */
    taken,
    get connections() {
      return wire.attempts;
    },
    cut: wire.cut,
  };
}

const unread = new WeakMap<object, { bytes: Buffer; level: number }>();

/** The packets that are whole; what is left waits for more. */
function* packetsOf(socket: object, more: Buffer) {
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
    const type = (bytes[0] ?? 0) >> 4;
    if (type === CONNECT) state.level = body[6] ?? 0;
    yield { type, body, level: state.level };
  }
}

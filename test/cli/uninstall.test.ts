// heat2mqtt uninstall over a slow link: what is still on its way is on the list, too.
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { handClock } from '../support/clock.ts';
import { PacketsHeard, text, written } from '../support/packets.ts';
import { untilAtRest } from '../support/rest.ts';
import { openStack } from '../support/stack.ts';
import { environmentAt, typed } from '../support/typed.ts';
import { waitFor } from '../support/waitFor.ts';
import { openWire } from '../support/wire.ts';

const CONNECT = 0x10;
const SUBSCRIBE = 0x82;
const UNSUBSCRIBE = 0xa2;
const INFO = 'heat2mqtt/bridge/info';
const HISTORY = 'heat2mqtt/meter/70418235/history';

const retained = (topic: string, payload: string): Buffer =>
  written({ type: 0x31, body: Buffer.concat([text(topic), Buffer.from(payload)]) });

test('lists what takes seconds on its way when the link is slow', async () => {
  const stack = openStack();
  const readers: Socket[] = [];
  const heard = new PacketsHeard();
  const wire = stack.use(
    await openWire(undefined, (socket, bytes) => {
      for (const { type, body } of heard.take(bytes)) {
        const id = body.subarray(0, 2);
        if (type === CONNECT) socket.write(Buffer.of(0x20, 2, 0, 0));
        if (type === UNSUBSCRIBE) socket.write(Buffer.of(0xb0, 2, ...id));
        if (type !== SUBSCRIBE) continue;
        socket.write(Buffer.of(0x90, 4, ...id, 1, 1));
        readers.push(socket);
      }
    }),
  );
  const broker = { HEAT2MQTT_MQTT_URL: wire.url, HEAT2MQTT_MQTT_PROTOCOL: '3.1.1' };
  const env = { ...environmentAt(await stack.folder()), ...broker };
  const clock = handClock('2025-03-10T12:00:00Z');
  let isOver = false;
  const command = typed(['uninstall'], { env, clock }).finally(() => {
    isOver = true;
  });
  await waitFor('the subscription', () => readers[0]);
  let left = Buffer.concat([retained(INFO, '{}'), retained(HISTORY, '0123456789')]);
  while (!isOver) {
    readers[0]?.write(left.subarray(0, 12));
    left = left.subarray(12);
    for (let passed = 0; passed < 500; passed += 50) {
      await untilAtRest();
      clock.advance(50);
    }
  }
  expect((await command).out.split('\n').slice(1, 3)).toEqual([`  ${INFO}`, `  ${HISTORY}`]);
});

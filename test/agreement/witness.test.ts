// That the tests notice what a schema does not allow: every probe fails its test for a message that is not as docs/schemas say.
import { expect, test } from 'vitest';
import { startBroker } from '../../src/mqtt/broker.ts';
import { changeMessage, lateMessage } from '../../src/publication/messages.ts';
import { Topics } from '../../src/publication/topics.ts';
import { connect } from '../mqtt/linked.ts';
import { statesOf } from '../support/inventedHome.ts';
import { complaintAbout } from '../support/payloads.ts';
import { startProbe } from '../support/probe.ts';
import { openStack } from '../support/stack.ts';

const topics = new Topics('flat');
const at = '2025-06-30T13:00:00+01:00';
const EVENT = { schema: 1, event_type: 'new_day', at, day: '2025-06-29', energy_kwh: 1.5, cost_eur: null };
const complain = (payload: unknown, retained = false) =>
  complaintAbout({
    topic: topics.of('meter/<meter>/event', '7'),
    payload: JSON.stringify(payload),
    retained,
  });

test('what the bridge says of an invented home is allowed', () => {
  const change = { day: '2025-06-29', after: { energy: 1, cost: null }, before: null } as const;
  const messages = [
    ...statesOf(topics),
    changeMessage(topics, '7', { kind: 'new_day', ...change }, at),
    changeMessage(topics, '7', { kind: 'corrected', ...change }, at),
    lateMessage(topics, '7', null, at),
  ];
  expect(messages.flatMap((message) => complaintAbout(message) ?? [])).toEqual([]);
  expect(complain(EVENT)).toBeNull();
  expect(complain(EVENT, true)).toContain('should not be');
  expect(complain({ ...EVENT, at: '2025-06-30T13:00:00' })).toContain('at at');
});

test('a probe tells at its end what it heard, but not what the test itself said', async () => {
  const stack = openStack();
  const broker = stack.use(await startBroker());
  const probe = await startProbe(broker.url);
  const will = { topic: topics.of('bridge/state'), payload: 'offline', retain: true };
  const daemon = await connect(broker.url, { will });
  stack.defer(() => daemon.close(200));
  await daemon.publish({ topic: topics.of('bridge/state'), payload: 'online', retain: true });
  await daemon.publish({ topic: topics.of('meter/<meter>/event', '7'), payload: '{}', retain: false });
  await daemon.publish({ topic: 'flat/horoscope', payload: '{}', retain: false });
  await probe.publish(topics.of('bridge/info'), '{}');
  await probe.until(topics.of('bridge/info'), () => true);
  const told = await probe.stop().then(
    () => '',
    (err: Error) => err.message,
  );
  expect(told).toContain('flat/meter/7/event: does not keep to docs/schemas/meter-event.json: ');
  expect(told).toContain('flat/horoscope: has no schema');
  expect(told).not.toContain(topics.of('bridge/info'));
});

// Whose a retained message is: ours by its topic, or by the availability of the device that it announces.
import { expect, test } from 'vitest';
import { TOPICS, type TopicName } from '../../src/publication/payloads/payloads.ts';
import { isOurs, isRetained, Topics } from '../../src/publication/topics.ts';

test('lets events, requests and responses pass, and retains every other topic', () => {
  const topics = Object.keys(TOPICS) as TopicName[];
  const passing = topics.filter((topic) => /\/(event|request\/.+|response\/.+)$/.test(topic));
  expect(topics.filter((topic) => !isRetained(topic))).toEqual(passing);
});

const device = (availability: string) => JSON.stringify({ availability_topic: availability });

test.each([
  ['a/b/bridge/state', 'offline', true],
  ['a/b/meter/70418235/usage/day', '{}', true],
  ['a/b/constituencies/query/0123abcd', '{}', true],
  ['a/b/meter/70418235/event', '{}', false],
  ['a/b/meter/70418235', '{}', false],
  ['a/b/bridge/request/refresh', '{}', false],
  ['a/bridge/state', 'online', false],
  ['homeassistant/device/a_b_bridge/config', device('a/b/bridge/state'), true],
  ['homeassistant/device/a_b_bridge/config', device('a/bridge/state'), false],
  ['homeassistant/device/a_b_bridge/config', 'null', false],
  ['homeassistant/device/a_b_bridge/config', '{', false],
])('%s %s: %s', (topic, payload, ours) => {
  expect(isOurs(new Topics('a/b'), { topic, payload: Buffer.from(payload) })).toBe(ours);
});

test('publishes no half of a surrogate pair, which Home Assistant does not read', () => {
  const message = new Topics('a').message('bridge/event', [], {
    at: '2025-03-10T12:00:00Z',
    event_type: 'poll_failed',
    code: 'provider_refused',
    message: 'cut \ud83d off',
    account: 'home',
  });
  expect(JSON.parse(message.payload).message).toBe('cut \ufffd off');
});

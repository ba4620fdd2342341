// The address of Home Assistant: as a browser shows it, or that of its WebSocket.
import { expect, test } from 'vitest';
import { BASE, load } from './loading.ts';

test.each([
  ['http://homeassistant.local:8123', 'ws://homeassistant.local:8123/api/websocket'],
  ['http://192.168.1.7:8123/lovelace/0?edit=1', 'ws://192.168.1.7:8123/api/websocket'],
  ['https://ha.example.org/', 'wss://ha.example.org/api/websocket'],
  ['http://[::1]:8123', 'ws://[::1]:8123/api/websocket'],
  ['ws://ha:8123', 'ws://ha:8123/api/websocket'],
  ['wss://ha.example.org/api/websocket', 'wss://ha.example.org/api/websocket'],
  ['ws://supervisor/core/websocket', 'ws://supervisor/core/websocket'],
])('%s', async (given, url) => {
  const inFile = await load(`${BASE}home_assistant: { url: '${given}', token: abcdef }\n`);
  expect(inFile.config.home_assistant?.url).toBe(url);
  const variables = { HEAT2MQTT_HOME_ASSISTANT_URL: given, HEAT2MQTT_HOME_ASSISTANT_TOKEN: 'abcdef' };
  expect((await load(BASE, variables)).config.home_assistant?.url).toBe(url);
});

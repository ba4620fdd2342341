// Within a Home Assistant app the way to Home Assistant is found by itself; whoever names another one gets that.
import { expect, test } from 'vitest';
import { createScrubber } from '../../src/foundation/log.ts';
import { BASE, load } from './loading.ts';

const ENV = { SUPERVISOR_TOKEN: 'token-of-the-supervisor' };

test('the Supervisor is the way in when SUPERVISOR_TOKEN is there', async () => {
  const scrubber = createScrubber();
  const { config, origins } = await load(BASE, ENV, { scrubber });
  expect(config.home_assistant?.url).toBe('ws://supervisor/core/websocket');
  expect(await config.home_assistant?.token.read()).toBe(ENV.SUPERVISOR_TOKEN);
  expect(origins.get('home_assistant.url')).toBe('environment SUPERVISOR_TOKEN');
  expect(scrubber.scrub(`a ${ENV.SUPERVISOR_TOKEN}`)).toBe('a [secret]');
});

test('another Home Assistant in the file or the environment counts', async () => {
  const own = `${BASE}home_assistant: { url: 'ws://ha:8123/api/websocket', token: mine-and-only }\n`;
  expect((await load(own, ENV)).config.home_assistant?.url).toBe('ws://ha:8123/api/websocket');
  const variables = { HEAT2MQTT_HOME_ASSISTANT_URL: 'ws://env:80/x', HEAT2MQTT_HOME_ASSISTANT_TOKEN: 'mine' };
  expect((await load(BASE, { ...ENV, ...variables })).config.home_assistant?.url).toBe('ws://env:80/x');
});

test('nobody has to have it', async () => {
  expect((await load(`${BASE}home_assistant: false\n`, ENV)).config.home_assistant).toBeUndefined();
  const off = { ...ENV, HEAT2MQTT_HOME_ASSISTANT: 'false' };
  expect((await load(BASE, off)).config.home_assistant).toBeUndefined();
});

test.each([{}, { SUPERVISOR_TOKEN: '' }])('without it there is no Home Assistant: %j', async (env) => {
  expect((await load(BASE, env)).config.home_assistant).toBeUndefined();
});

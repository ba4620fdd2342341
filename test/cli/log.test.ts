// The log as it is printed: lines for a person on a terminal and wherever they are asked for, JSON elsewhere.
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { openLog, openSettings } from '../../src/cli/settings.ts';
import { LogTail } from '../../src/foundation/log.ts';
import { environmentAt, ioTo } from '../support/typed.ts';

/** One line about a poll. */
async function printed(more: Record<string, string>, isTerminal = false): Promise<string> {
  const out: string[] = [];
  const io = { ...ioTo(out), env: { ...environmentAt('/nonexistent/heat2mqtt'), ...more }, isTerminal };
  const log = await openLog(await openSettings({}, io), io, new LogTail());
  log.info({ account: 'home', newestDay: '2025-03-10', kwh: 11.2, cost: 2.1 }, 'polled');
  return out.join('');
}

test('prints JSON when nobody is known to read, lines with a date when they are asked for, with the time on a terminal', async () => {
  expect(JSON.parse(await printed({}))).toMatchObject({ msg: 'polled', kwh: 11.2, cost: 2.1 });
  expect(await printed({ HEAT2MQTT_LOG_FORMAT: 'pretty' })).toMatch(
    /^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] INFO: polled \{.*"kwh":11\.2,"cost":2\.1\}\n$/,
  );
  expect(await printed({}, true)).toMatch(/^\[\d\d:\d\d:\d\d\] /);
});

test('prints lines under the unit, in the container of Compose and in the app, which ask for them', async () => {
  const read = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');
  const PRETTY = 'HEAT2MQTT_LOG_FORMAT=pretty';
  expect(await read('systemd/heat2mqtt.service')).toMatch(new RegExp(`^Environment=${PRETTY}$`, 'm'));
  expect(await read('app/Dockerfile')).toMatch(new RegExp(`^ENV .*${PRETTY}`, 'm'));
  expect(parse(await read('compose.yaml')).services.heat2mqtt.environment.HEAT2MQTT_LOG_FORMAT).toMatch(
    /pretty/,
  );
});

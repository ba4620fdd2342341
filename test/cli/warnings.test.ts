// A configuration that is allowed but probably not meant: run and check say so, and go on.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openStack } from '../support/stack.ts';
import { typed } from '../support/typed.ts';

async function outcome(word: string, env: Record<string, string>, ...more: string[]) {
  const stack = openStack();
  const folder = await stack.folder();
  // `run` adds listeners for faults that nobody expected.
  for (const event of ['uncaughtException', 'unhandledRejection']) {
    const before = process.rawListeners(event);
    stack.defer(() => {
      process.removeAllListeners(event);
      for (const listener of before) process.on(event, listener as () => void);
    });
  }
  const { exitCode, out, err } = await typed([word, ...more], {
    env: {
      HEAT2MQTT_CONSTITUENCIES_CHAMBER: 'dail',
      HEAT2MQTT_HTTP: 'false',
      HEAT2MQTT_STATE_DIR: join(folder, 'state'),
      HEAT2MQTT_MQTT_EMBEDDED_PORT: '0',
      ...env,
    },
    interrupted: AbortSignal.abort(),
  });
  return { code: exitCode, said: out + err };
}

const URL_BESIDE = { HEAT2MQTT_MQTT_URL: 'mqtt://u:p@elsewhere' };
const WARNING = 'mqtt.url is not used, because mqtt.embedded starts a broker of its own';

test('mqtt.url beside mqtt.embedded: run warns in its log', async () => {
  const { code, said } = await outcome('run', URL_BESIDE);
  const warnings = said.split('\n').filter((line) => line.includes('"level":"warn"'));
  expect([code, warnings]).toEqual([0, [expect.stringContaining(WARNING)]]);
  expect((await outcome('run', {})).said).not.toContain('mqtt.url');
});

test('mqtt.url beside mqtt.embedded: check gives advice, with exit code 0', async () => {
  const { code, said } = await outcome('check', URL_BESIDE);
  expect([code, said]).toEqual([0, expect.stringMatching(/^ok {4} configuration: .*\n {7}mqtt\.url is not/)]);
  const json = JSON.parse((await outcome('check', URL_BESIDE, '--json')).said);
  expect(json).toMatchObject({ ok: true, checks: [{ hint: expect.stringContaining(WARNING) }, {}, {}] });
  expect((await outcome('check', {})).said).not.toContain('mqtt.url');
});

test('an own broker for other machines without a user: run and check say that it stays on this one', async () => {
  const open = { HEAT2MQTT_MQTT_EMBEDDED_HOST: '0.0.0.0' };
  const said = /reached from this machine only.*mqtt\.embedded\.username/s;
  expect(await outcome('run', open)).toMatchObject({
    code: 0,
    said: expect.stringContaining('broker_on_loopback'),
  });
  expect(await outcome('check', open)).toMatchObject({ code: 0, said: expect.stringMatching(said) });
  const user = { HEAT2MQTT_MQTT_EMBEDDED_USERNAME: 'home', HEAT2MQTT_MQTT_EMBEDDED_PASSWORD: 'broker word' };
  expect((await outcome('check', { ...open, ...user })).said).not.toMatch(said);
});

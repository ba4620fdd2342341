// A client that publishes thousands of messages on what the daemon listens to: /healthz answers all the time.
import { expect, test } from 'vitest';
import { startChild } from '../support/child.ts';
import { STATE } from '../support/homes.ts';
import { startProbe } from '../support/probe.ts';
import { turn, waitFor } from '../support/waitFor.ts';
import { startMosquitto } from './mosquitto.ts';
import { openHome } from './program.ts';

const MESSAGES = 5_000;
const LONGEST_WORK_MS = 500;
/** A birth of Home Assistant is heard up to two seconds later. */
const LOOK_AFTERWARDS_MS = 4_000;
// None is lost on the way.
const MOSQUITTO = ['allow_anonymous true', 'max_queued_messages 0', 'max_inflight_messages 0'];

/**
 * A process of its own, which nothing here holds up. It prints how long the daemon worked until each answer came: by its processor
 * time, since other programs may keep a whole machine busy.
 */
const WATCH = `
import { readFileSync } from 'node:fs';
const [url, pid] = process.argv.slice(1);
const MS_OF_A_TICK = 10;
const workedMs = () => {
  const fields = readFileSync('/proc/' + pid + '/stat', 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * MS_OF_A_TICK;
};
for (;;) {
  const before = workedMs();
  const { status } = await fetch(url);
  console.log(status, workedMs() - before);
  await new Promise((resolve) => setTimeout(resolve, 20));
}`;

function watchHealth(port: number, pid: number | undefined) {
  const url = `http://127.0.0.1:${port}/healthz`;
  const child = startChild(process.execPath, ['--input-type=module', '-e', WATCH, url, String(pid)]);
  return {
    started: () => child.says('200 '),
    answers: () =>
      child.output
        .trim()
        .split('\n')
        .map((line) => line.split(' ').map(Number))
        .map(([status, ms = 0]) => ({ status, ms })),
    stop: () => child.stop(),
  };
}

const BRIDGE = 'heat2mqtt/bridge';
const FOREIGN = Array.from({ length: 100 }, (_, at) =>
  JSON.stringify({ schema: 1, version: '0.0.0', instance: `foreign-${at}`, meters: [] }),
);

test.each<[string, string, readonly string[]]>([
  ['births of Home Assistant', 'homeassistant/status', ['online']],
  ['requests for health', `${BRIDGE}/request/health`, ['{}']],
  ['requests to poll', `${BRIDGE}/request/refresh`, ['{}']],
  ['requests for constituencies', `${BRIDGE}/request/constituencies`, ['{}']],
  ['unknown requests', `${BRIDGE}/request/refrehs`, ['{"a":']],
  ['words of bridge/state', `${BRIDGE}/state`, ['offline', 'online', 'offline', 'nonsense']],
  ['words of bridge/info', `${BRIDGE}/info`, FOREIGN],
])(
  '5,000 %s: /healthz waits for less than half a second of work all the time',
  async (_, topic, payloads) => {
    const home = await openHome();
    const broker = home.stack.use(await startMosquitto(MOSQUITTO));
    const { constituencies: base_url } = home.simulator.urls;
    const program = home.start(
      await home.configure({ mqtt: { url: broker.url }, constituencies: { base_url } }),
    );
    const probe = await startProbe(broker.url);
    await probe.until(STATE, () => true);
    await probe.stop();
    await program.says('"polled"');
    const watch = home.stack.use(watchHealth(home.httpPort, program.pid));
    await watch.started();

    const sender = home.stack.use(
      startChild('mosquitto_pub', ['-p', String(broker.port), '-t', topic, '-l'], { isTypedTo: true }),
    );
    const lines = Array.from({ length: MESSAGES }, (_, at) => payloads[at % payloads.length] ?? '');
    sender.type(lines.join('\n'));
    await turn(LOOK_AFTERWARDS_MS);
    const before = watch.answers().length;
    await waitFor('an answer afterwards', () => watch.answers().length > before);
    const answers = watch.answers();
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(Math.max(...answers.map(({ ms }) => ms))).toBeLessThan(LONGEST_WORK_MS);
    expect((await program.end('SIGTERM')).code).toBe(0);
  },
);

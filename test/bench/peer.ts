// A peer that does the same job: a Node-RED flow with an HTTP request and an MQTT out node, where NODE_RED_FOLDER names one.
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Child, residentMb, start, wait } from './children.ts';
import { type Bench, openHome, untilHeard } from './home.ts';
import { spread, table } from './numbers.ts';

const { NODE_RED_FOLDER = '' } = process.env;
const NODE_RED = join(NODE_RED_FOLDER, 'node_modules/node-red');
const TOPIC = 'peer/state';

/** From the start of the process to the first retained state with a poll, and resident memory after it. */
export async function benchPeer(bench: Bench, quietMs: number, runs: number): Promise<string> {
  if (!existsSync(join(NODE_RED, 'red.js')))
    return 'Left out: the peer. NODE_RED_FOLDER names no folder with Node-RED (CONTRIBUTING tells how to get one).';
  const home = await openHome(bench, 'beside');
  await home.prime();
  const folder = await writeFlow(bench);
  const startPeer = () => start([join(NODE_RED, 'red.js'), '--userDir', folder], {}, folder);
  const ours: Measured[] = [];
  const theirs: Measured[] = [];
  for (let n = 0; n < runs; n += 1) {
    await home.restore({ pollDue: true });
    ours.push(await measure(bench, home.run, home.isState, quietMs));
    theirs.push(await measure(bench, startPeer, (topic) => topic === TOPIC, quietMs));
  }
  const { version } = JSON.parse(readFileSync(join(NODE_RED, 'package.json'), 'utf8')) as { version: string };
  const both = (of: (one: Measured) => number) => [spread(ours.map(of)), spread(theirs.map(of))];
  const started = ['start to the first meter state, poll due, ms', ...both(({ startMs }) => startMs)];
  const quiet = [`resident after ${quietMs / 1000} s of quiet, MB`, ...both(({ resident }) => resident)];
  return table(['what', 'heat2mqtt', `Node-RED ${version}`], [started, quiet]);
}

type Measured = Awaited<ReturnType<typeof measure>>;

async function measure(
  bench: Bench,
  begin: () => Child,
  isState: (topic: string) => boolean,
  quietMs: number,
) {
  const { child, wall: startMs } = await untilHeard(bench, isState, begin);
  await wait(quietMs);
  const resident = residentMb(child.pid);
  await child.kill('SIGTERM');
  return { startMs, resident };
}

/** The flow as somebody would draw it: at the start ask the provider, and publish the newest amount. */
async function writeFlow({ folder, broker, provider }: Bench): Promise<string> {
  const here = join(folder, 'node-red');
  await mkdir(here, { recursive: true });
  const day = (ms: number) => new Date(Date.now() + ms).toISOString();
  const body = JSON.stringify({ range: { gte: day(-15 * 86_400_000), lte: day(0) } });
  const prepare = `msg.headers = { authorization: 'Bearer ${'x'.repeat(500)}', 'content-type': 'application/json' };
msg.payload = ${JSON.stringify(body)};
return msg;`;
  const newest = `const days = msg.payload.aggregations.resources.buckets[0].readings.intervals.buckets;
return { payload: { day: days.at(-1).key_as_string, energy: days.at(-1).documents.amount.value } };`;
  const { hostname, port } = new URL(broker.url);
  const url = `${provider.url}/api/v1/reports/usage`;
  const node = (id: string, type: string, next: readonly string[], more: object) => ({
    ...{ id, type, z: 'flow', x: 100, y: 100, wires: [next] },
    ...more,
  });
  const brokerOptions = { broker: hostname, port, protocolVersion: '5', keepalive: '30', cleansession: true };
  const flow = [
    { id: 'flow', type: 'tab', label: 'meter' },
    { id: 'broker', type: 'mqtt-broker', ...brokerOptions },
    node('begin', 'inject', ['prepare'], { props: [], repeat: '', crontab: '', once: true, onceDelay: 0 }),
    node('prepare', 'function', ['request'], { func: prepare, outputs: 1 }),
    node('request', 'http request', ['newest'], { method: 'POST', ret: 'obj', url }),
    node('newest', 'function', ['state'], { func: newest, outputs: 1 }),
    node('state', 'mqtt out', [], { topic: TOPIC, qos: '1', retain: 'true', broker: 'broker' }),
  ];
  await writeFile(join(here, 'flows.json'), JSON.stringify(flow));
  const settings = {
    ...{ uiHost: '127.0.0.1', uiPort: 0, flowFile: 'flows.json', credentialSecret: false },
    telemetry: { enabled: false },
  };
  await writeFile(join(here, 'settings.js'), `module.exports = ${JSON.stringify(settings)};\n`);
  return here;
}

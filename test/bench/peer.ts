// A peer that does the same job: a Node-RED flow with an HTTP request and an MQTT out node, where NODE_RED_FOLDER names one.
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Child, memoryOf, start } from './children.ts';
import { type Home, openHome } from './home.ts';
import { mb, spread, table } from './numbers.ts';
import { type Bench, prime } from './startUp.ts';

const { NODE_RED_FOLDER = '' } = process.env;
const NODE_RED = join(NODE_RED_FOLDER, 'node_modules/node-red');
const BASE = 'peer';
const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

interface Measured {
  readonly start: number;
  readonly poll: number;
  readonly resident: number;
}

/** From the start of the process to the first retained state, one poll that is asked for, and resident memory after it. */
export async function benchPeer(bench: Bench, quietMs: number, runs: number): Promise<string> {
  if (!existsSync(join(NODE_RED, 'red.js')))
    return 'Left out: the peer. NODE_RED_FOLDER names no folder with Node-RED (CONTRIBUTING tells how to get one).';
  const home = await openHome(bench.folder, { ...bench, name: 'beside', accounts: 1 });
  await prime(home, bench);
  const folder = await writeFlow(bench);
  const ours: Measured[] = [];
  const theirs: Measured[] = [];
  for (let n = 0; n < runs; n += 1) {
    ours.push(await measureOurs(bench, home, quietMs));
    theirs.push(await measurePeer(bench, folder, quietMs));
  }
  const { version } = JSON.parse(readFileSync(join(NODE_RED, 'package.json'), 'utf8')) as { version: string };
  const row = (what: string, of: (one: Measured) => number) => [
    what,
    spread(ours.map(of)),
    spread(theirs.map(of)),
  ];
  return table(
    ['what', 'heat2mqtt', `Node-RED ${version}`],
    [
      row('start to the first meter state, poll due, ms', ({ start }) => start),
      row('a poll that is asked for over MQTT, ms', ({ poll }) => poll),
      row(`resident after ${quietMs / 1000} s of quiet, MB`, ({ resident }) => mb(resident)),
    ],
  );
}

async function measureOurs(bench: Bench, home: Home, quietMs: number): Promise<Measured> {
  await home.restore();
  await home.forgetPolls();
  const isState = (topic: string) => topic.startsWith(`${home.base}/meter/`) && topic.endsWith('/state');
  const isAnswer = (topic: string) => topic === `${home.base}/bridge/response/refresh`;
  return measure(
    bench,
    () => home.run(),
    { isState, isAnswer, ask: `${home.base}/bridge/request/refresh` },
    quietMs,
  );
}

async function measurePeer(bench: Bench, folder: string, quietMs: number): Promise<Measured> {
  const isState = (topic: string) => topic === `${BASE}/state`;
  const begin = () => start([join(NODE_RED, 'red.js'), '--userDir', folder], {}, folder);
  return measure(bench, begin, { isState, isAnswer: isState, ask: `${BASE}/poll` }, quietMs);
}

interface Topics {
  readonly isState: (topic: string) => boolean;
  readonly isAnswer: (topic: string) => boolean;
  readonly ask: string;
}

async function measure(
  { broker }: Bench,
  begin: () => Child,
  { isState, isAnswer, ask }: Topics,
  quietMs: number,
): Promise<Measured> {
  const first = broker.heard(isState);
  const child = begin();
  const startMs = (await first) - child.startedAt;
  // What a start does besides is over then.
  await wait(3_000);
  const answered = broker.heard(isAnswer);
  const askedAt = performance.now();
  await broker.client.publishAsync(ask, '');
  const poll = (await answered) - askedAt;
  await wait(quietMs);
  const { resident } = memoryOf(child.pid);
  await child.kill('SIGTERM');
  return { start: startMs, poll, resident };
}

/** The flow as somebody would draw it: at the start, or when asked, question the provider and publish the newest amount. */
async function writeFlow({ folder, broker, provider }: Bench): Promise<string> {
  const here = join(folder, 'node-red');
  await mkdir(here, { recursive: true });
  const day = (ms: number) => new Date(Date.now() + ms).toISOString();
  const body = JSON.stringify({ range: { gte: day(-15 * 86_400_000), lte: day(0) } });
  const question = `msg.headers = { authorization: 'Bearer ${'x'.repeat(500)}', 'content-type': 'application/json' };
msg.payload = ${JSON.stringify(body)};
return msg;`;
  const newest = `const days = msg.payload.aggregations.resources.buckets[0].readings.intervals.buckets;
return { payload: { day: days.at(-1).key_as_string, energy: days.at(-1).documents.amount.value } };`;
  const z = 'flow';
  const { hostname, port } = new URL(broker.url);
  const place = { z, x: 100, y: 100 };
  const flow = [
    { id: z, type: 'tab', label: 'meter' },
    {
      id: 'broker',
      type: 'mqtt-broker',
      broker: hostname,
      port,
      protocolVersion: '5',
      keepalive: '30',
      cleansession: true,
    },
    {
      id: 'begin',
      type: 'inject',
      ...place,
      props: [],
      repeat: '',
      crontab: '',
      once: true,
      onceDelay: 0,
      wires: [['question']],
    },
    {
      id: 'ask',
      type: 'mqtt in',
      ...place,
      topic: `${BASE}/poll`,
      qos: '1',
      datatype: 'auto-detect',
      broker: 'broker',
      wires: [['question']],
    },
    { id: 'question', type: 'function', ...place, func: question, outputs: 1, wires: [['request']] },
    {
      id: 'request',
      type: 'http request',
      ...place,
      method: 'POST',
      ret: 'obj',
      url: `${provider.url}/api/v1/reports/usage`,
      wires: [['newest']],
    },
    { id: 'newest', type: 'function', ...place, func: newest, outputs: 1, wires: [['state']] },
    {
      id: 'state',
      type: 'mqtt out',
      ...place,
      topic: `${BASE}/state`,
      qos: '1',
      retain: 'true',
      broker: 'broker',
      wires: [],
    },
  ];
  await writeFile(join(here, 'flows.json'), JSON.stringify(flow));
  const settings = {
    uiHost: '127.0.0.1',
    uiPort: 0,
    flowFile: 'flows.json',
    credentialSecret: false,
    telemetry: { enabled: false },
  };
  await writeFile(join(here, 'settings.js'), `module.exports = ${JSON.stringify(settings)};\n`);
  return here;
}

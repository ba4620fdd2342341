// A real Node-RED from npm with the example flows in it: not a dependency of ours, so it may be missing.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exampleFlows, type FlowNode } from '../support/nodeRedFlows.ts';
import { waitFor } from '../support/waitFor.ts';
import { freePort } from './mosquitto.ts';

/** Where `npm install --prefix … node-red` was done; a package `node` beside it is the Node.js that it runs on. */
const { NODE_RED_FOLDER = '' } = process.env;
const PROGRAM = join(NODE_RED_FOLDER, 'node_modules/node-red/red.js');
const OWN_NODE = join(NODE_RED_FOLDER, 'node_modules/node/bin/node');

export const isThere = existsSync(PROGRAM);

export interface NodeRed {
  readonly url: string;
  readonly output: string;
  /** As a press on the button of an inject node. */
  press(id: string): Promise<void>;
  stop(): Promise<void>;
}

/** Resolves once it runs all example flows against the broker; whatever a debug node shows also goes to `tap/<its name>`. */
export async function startNodeRed(brokerPort: number): Promise<NodeRed> {
  const folder = await mkdtemp(join(tmpdir(), 'heat2mqtt-node-red-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const settings = join(folder, 'settings.js');

  await writeFile(
    settings,
    `module.exports = ${JSON.stringify({
      uiHost: '127.0.0.1',
      uiPort: port,
      flowFile: 'flows.json',
      credentialSecret: false,
      telemetry: { enabled: false },
      logging: { console: { level: 'info', metrics: false, audit: false } },
    })};\n`,
  );
  const node = existsSync(OWN_NODE) ? OWN_NODE : process.execPath;
  const { PATH = '' } = process.env;
  const child = spawn(node, [PROGRAM, '--userDir', folder, '--settings', settings], {
    cwd: folder,
    env: { PATH, HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (output += String(bytes)));
  const gone = new Promise((resolve) => child.once('exit', resolve));

  const ask = async (path: string, body: unknown) => {
    const headers = { 'content-type': 'application/json', 'node-red-api-version': 'v2' };
    const reply = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!reply.ok) throw new Error(`Node-RED answers ${reply.status} to ${path}: ${await reply.text()}`);
  };
  const says = (text: RegExp) =>
    waitFor(`Node-RED to say ${text}`, () => text.test(output), {
      diagnose: () => output.slice(-3_000),
    });
  const running: NodeRed = {
    url,
    get output() {
      return output;
    },
    press: (id) => ask(`/inject/${id}`, {}),
    async stop() {
      child.kill('SIGTERM');
      const late = setTimeout(() => child.kill('SIGKILL'), 5_000);
      await gone;
      clearTimeout(late);
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  try {
    await says(/Started flows/);
    output = '';
    await ask('/flows', {
      flows: [...exampleFlows().values()].flatMap((nodes) => adapted(nodes, brokerPort)),
    });
    await says(/Started flows/);
    const brokers = exampleFlows().size;
    await waitFor('its connections', () => output.split('Connected to broker').length > brokers, {
      diagnose: () => output,
    });
  } catch (err) {
    await running.stop();
    throw err;
  }
  return running;
}

/** With the broker of the test, and a tap beside each debug node. */
function adapted(nodes: readonly FlowNode[], brokerPort: number): FlowNode[] {
  const shown = nodes.filter(({ type }) => type === 'debug');
  const tapOf = ({ id }: { readonly id: string }) => `${id}-tap`;
  const broker = nodes.find(({ type }) => type === 'mqtt-broker')?.id;
  const taps = shown.map((node) => ({
    id: tapOf(node),
    type: 'mqtt out',
    z: node.z,
    topic: `tap/${node.name}`,
    qos: '1',
    retain: 'false',
    broker,
    x: 100,
    y: 400,
    wires: [],
  }));
  return [
    ...nodes.map((node) => ({
      ...node,
      ...(node.type === 'mqtt-broker' ? { broker: '127.0.0.1', port: String(brokerPort) } : {}),
      ...(node.wires
        ? {
            wires: node.wires.map((ends) => [
              ...ends,
              ...shown.filter(({ id }) => ends.includes(id)).map(tapOf),
            ]),
          }
        : {}),
    })),
    // A tap must not take the topic of the message that it shows.
    ...taps,
  ];
}

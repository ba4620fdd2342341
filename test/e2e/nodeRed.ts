// A real Node-RED from npm with the example flows in it: not a dependency of ours, so it may be missing.
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startChild } from '../support/child.ts';
import { exampleFlows, type FlowNode } from '../support/nodeRedFlows.ts';
import type { Stack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';
import { freePort } from './mosquitto.ts';

/** Where `npm install --prefix … node-red` was done; a package `node` beside it is the Node.js that it runs on. */
const { NODE_RED_FOLDER = '' } = process.env;
const PROGRAM = join(NODE_RED_FOLDER, 'node_modules/node-red/red.js');
const OWN_NODE = join(NODE_RED_FOLDER, 'node_modules/node/bin/node');

export const isThere = existsSync(PROGRAM);
export const hasDashboard = existsSync(
  join(NODE_RED_FOLDER, 'node_modules/@flowfuse/node-red-dashboard/package.json'),
);

/** Resolves once it runs all example flows against the broker; whatever a debug node or the dashboard shows also goes to `tap/<its name>`. */
export async function startNodeRed(stack: Stack, brokerPort: number) {
  const folder = await stack.folder();
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
  const args = [PROGRAM, '--userDir', folder, '--settings', settings];
  const child = stack.use(startChild(node, args, { cwd: folder, env: { HOME: folder } }));

  const ask = async (path: string, body: unknown) => {
    const headers = { 'content-type': 'application/json', 'node-red-api-version': 'v2' };
    const reply = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!reply.ok) throw new Error(`Node-RED answers ${reply.status} to ${path}: ${await reply.text()}`);
  };
  const has = (description: string, text: string, times: number) =>
    waitFor(description, () => child.output.split(text).length > times, {
      diagnose: () => child.output.slice(-3_000) + child.errors,
    });
  await has('Node-RED', 'Started flows', 1);
  const before = child.output.length;
  const nodes = [...exampleFlows()]
    .filter(([file]) => hasDashboard || file !== 'dashboard.json')
    .flatMap(([, flow]) => adapted(flow, brokerPort));
  // The broker is in each flow.
  await ask('/flows', { flows: [...new Map(nodes.map((node) => [node.id, node])).values()] });
  await has('its flows', 'Started flows', 2);
  await has('its connections, with 3.1.1 and with 5', 'Connected to broker', 2);
  return {
    url,
    /** What it has said since it was given the flows. */
    said: () => child.output.slice(before) + child.errors,
    /** As a press on the button of an inject node. */
    press: (id: string) => ask(`/inject/${id}`, {}),
    openDashboard: () => openDashboard(`${url}/dashboard`),
  };
}

/** As a browser: socket.io over HTTP, in packets of Engine.IO 4. */
async function openDashboard(url: string) {
  const query = `${url}/socket.io/?EIO=4&transport=polling`;
  const { sid } = JSON.parse((await (await fetch(query)).text()).slice(1));
  const socket = `${query}&sid=${sid}`;
  const send = (packet: string) => fetch(socket, { method: 'POST', body: packet });
  await send('40');
  return {
    page: async () => (await fetch(`${url}/heat`)).text(),
    act: (event: string, id: string, value: unknown) =>
      send(`42${JSON.stringify([event, id, { _event: { type: 'click' }, payload: value }])}`),
  };
}

const SHOWING = ['debug', 'ui-text', 'ui-chart'];

/** With the broker of the test, and a tap beside each node that shows something. */
function adapted(nodes: readonly FlowNode[], brokerPort: number): FlowNode[] {
  const shown = nodes.filter(({ type }) => SHOWING.includes(type));
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

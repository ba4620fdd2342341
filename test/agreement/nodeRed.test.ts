// The example flows can be imported side by side, give away no credentials, and speak of topics that exist. A real Node-RED runs them in test/e2e.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { exampleFlows, type FlowNode } from '../support/nodeRedFlows.ts';
import { kindOf } from '../support/payloads.ts';
import { ROOT } from '../support/sources.ts';

const flows = exampleFlows();

test('docs/node-red.md names each of them, and no other', () => {
  const page = readFileSync(join(ROOT, 'docs/node-red.md'), 'utf8');
  const named = [...page.matchAll(/^\| \[([\w-]+\.json)\]/gm)].map(([, file]) => file);
  expect(named.sort()).toEqual([...flows.keys()]);
});

test('all can be imported side by side: no id is given twice, but for the broker that they share', () => {
  const nodes = [...flows.values()].flat();
  const isBroker = ({ type }: FlowNode) => type === 'mqtt-broker';
  const brokers = new Map(nodes.filter(isBroker).map((node) => [node.id, node]));
  for (const node of nodes.filter(isBroker)) expect(node).toEqual(brokers.get(node.id));
  // The embedded broker knows no MQTT 5: one flow is about it, and all others do without.
  expect([...brokers.values()].map(({ protocolVersion }) => protocolVersion).sort()).toEqual(['4', '5']);
  const ids = nodes.filter((node) => !isBroker(node)).map(({ id }) => id);
  expect(new Set([...ids, ...brokers.keys()]).size).toBe(ids.length + 2);
});

describe.each([...flows])('%s', (_, nodes) => {
  const of = (type: string) => nodes.filter((node) => node.type === type);

  test('has one tab, one broker without credentials, a comment, and names', () => {
    expect([of('tab'), of('mqtt-broker'), of('comment')].map((found) => found.length)).toEqual([1, 1, 1]);
    expect(Object.keys(of('mqtt-broker')[0] ?? {})).not.toContain('credentials');
    expect(JSON.stringify(nodes)).not.toMatch(/"(user|password|token)"/);
    expect(String(of('comment')[0]?.info).length).toBeGreaterThan(100);
    expect(nodes.filter(({ type, name }) => type !== 'tab' && !name)).toEqual([]);
  });

  test('speaks of topics that exist', () => {
    const topics = nodes.filter(isTalking).map(({ topic = '' }) => topic);
    expect(topics.length).toBeGreaterThan(0);
    expect(topics.filter((topic) => topic !== OWN_ANSWERS && kindOf(topic) === undefined)).toEqual([]);
  });
});

/** The response topic of the flow for MQTT 5, outside of ours. */
const OWN_ANSWERS = 'node-red/heat2mqtt/answers';

/** An *mqtt out* node without a topic takes that of the message. */
const isTalking = ({ type, topic = '' }: FlowNode): boolean =>
  topic !== '' && (type.startsWith('mqtt ') || type === 'inject');

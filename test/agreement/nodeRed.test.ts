// The example flows hang together, need nothing but Node-RED itself (one: Dashboard 2.0), give away no credentials, and speak of topics that exist.
import { describe, expect, test } from 'vitest';
import { exampleFlows, type FlowNode } from '../support/nodeRedFlows.ts';
import { kindOf } from '../support/payloads.ts';

/** Of Node-RED's own palette. */
const OWN =
  'tab,comment,mqtt-broker,mqtt in,mqtt out,inject,debug,switch,change,template,function,http in,http response'.split(
    ',',
  );

const flows = exampleFlows();

test('there are five', () => {
  expect([...flows.keys()]).toEqual([
    'constituencies.json',
    'cost-alert.json',
    'daily-summary.json',
    'dashboard.json',
    'monthly-chart.json',
  ]);
});

test('all can be imported side by side: no id is given twice, but for the one broker that they share', () => {
  const nodes = [...flows.values()].flat();
  const [broker, ...same] = nodes.filter(({ type }) => type === 'mqtt-broker');
  expect(same).toEqual(same.map(() => broker));
  const ids = nodes.filter(({ type }) => type !== 'mqtt-broker').map(({ id }) => id);
  expect(new Set([...ids, broker?.id]).size).toBe(ids.length + 1);
});

describe.each([...flows])('%s', (file, nodes) => {
  const of = (type: string) => nodes.filter((node) => node.type === type);

  test('has one tab, one broker without credentials, a comment, and names', () => {
    expect([of('tab'), of('mqtt-broker'), of('comment')].map((found) => found.length)).toEqual([1, 1, 1]);
    expect(Object.keys(of('mqtt-broker')[0] ?? {})).not.toContain('credentials');
    expect(JSON.stringify(nodes)).not.toMatch(/"(user|password|token)"/);
    expect(String(of('comment')[0]?.info).length).toBeGreaterThan(100);
    expect(nodes.filter(({ type, name }) => type !== 'tab' && !name)).toEqual([]);
  });

  test('needs no node of others but those of the dashboard, and every wire and broker is there', () => {
    const ids = new Set(nodes.map(({ id }) => id));
    const isOfDashboard = (type: string) => file === 'dashboard.json' && type.startsWith('ui-');
    expect(nodes.filter(({ type }) => !OWN.includes(type) && !isOfDashboard(type))).toEqual([]);
    const ends = nodes.flatMap(({ wires = [], broker }) => [
      ...wires.flat(),
      ...(typeof broker === 'string' && broker.startsWith('h2m-') ? [broker] : []),
    ]);
    expect(ends.filter((id) => !ids.has(id))).toEqual([]);
    for (const { broker } of nodes.filter(({ type }) => type.startsWith('mqtt ')))
      expect(broker).toBe(of('mqtt-broker')[0]?.id);
  });

  test('speaks of topics that exist', () => {
    const topics = nodes.filter(isTalking).map(({ topic = '' }) => topic);
    expect(topics.length).toBeGreaterThan(0);
    expect(topics.filter((topic) => kindOf(topic) === undefined)).toEqual([]);
  });
});

const isTalking = ({ type, topicType }: FlowNode): boolean =>
  type.startsWith('mqtt ') && topicType !== 'dynamic';

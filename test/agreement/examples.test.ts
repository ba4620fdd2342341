// The examples for Home Assistant and Prometheus name entities, topics and metrics that exist; the worked configurations say what the table of known providers says.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { SCHEMAS } from '../../scripts/docs/schemas.ts';
import { KNOWN_PROVIDERS, UNTRIED } from '../../src/config/providers.ts';
import { nextTimes } from '../../src/engine/schedule.ts';
import { seriesOf } from '../../src/homeassistant/recorder.ts';
import { load } from '../config/loading.ts';
import { METER } from '../support/homes.ts';
import { bodyOf, discoveryBelow, discoveryOf } from '../support/inventedHome.ts';
import { kindOf } from '../support/payloads.ts';
import { ROOT } from '../support/sources.ts';

const read = (path: string) => readFileSync(join(ROOT, 'examples', path), 'utf8');

/** Every component of every document, by its key. */
const components: Record<string, Record<string, unknown>> = Object.assign(
  {},
  ...discoveryOf(discoveryBelow('heat2mqtt')).map((message) => bodyOf(message).components),
);

/** A blueprint; `!input` is left out of it. */
function readBlueprint(file: string) {
  const input = { tag: '!input', resolve: () => null };
  return parse(read(`home-assistant/${file}`), { customTags: [input] });
}

// test/e2e-home-assistant/blueprints.test.ts imports and runs them.
test.each(['data-late.yaml', 'new-bill.yaml', 'unusual-use.yaml', 'heat-while-away.yaml'])(
  'the blueprint %s has an address to import it from',
  (file) => {
    const { source_url } = readBlueprint(file).blueprint;
    expect(source_url).toMatch(new RegExp(`/blob/main/examples/home-assistant/${file}$`));
  },
);

test('each alert of a fleet has a summary, and asks for metrics that a fleet has', () => {
  const { groups } = parse(read('fleet/alerts.yaml'));
  const told = ['accounts/metrics', 'fleet/healthServer'].map((file) =>
    readFileSync(join(ROOT, 'src', `${file}.ts`), 'utf8'),
  );
  for (const { expr, annotations } of groups[0].rules) {
    expect(Object.keys(annotations)).toEqual(['summary']);
    for (const [, name = ''] of expr.matchAll(/heat2mqtt_(?:fleet_)?(\w+)/g))
      expect(told.join()).toContain(`'${name}'`);
  }
});

test('the selector of the late meter finds data_late', () => {
  const { data_late } = readBlueprint('data-late.yaml').blueprint.input;
  const { platform: domain, device_class } = components.data_late ?? {};
  expect(data_late?.selector).toEqual({
    entity: { filter: [{ integration: 'mqtt', domain, device_class }] },
  });
});

test.each([
  ['new-bill.yaml', 'account/<account>/event', 'bill'],
  ['unusual-use.yaml', 'meter/<meter>/event', 'unusual_use'],
  ['heat-while-away.yaml', 'meter/<meter>/event', 'new_day'],
])('%s listens on the topic of the event that it tells of', (file, topic, type) => {
  const { blueprint, triggers } = readBlueprint(file);
  const kind = kindOf(blueprint.input.topic.default) ?? '';
  expect(kind).toBe(topic);
  expect(triggers).toMatchObject([{ trigger: 'mqtt', payload: type }]);
  expect(JSON.stringify(SCHEMAS.get(kind))).toContain(`"const":"${type}"`);
});

test('the dashboard shows entities as Home Assistant calls them, and none that has to be enabled first', () => {
  const [view] = parse(read('home-assistant/dashboard.yaml')) as { cards: { type: string }[] }[];
  expect(view?.cards.every(({ type }) => typeof type === 'string')).toBe(true);
  const named =
    read('home-assistant/dashboard.yaml').match(/\b(sensor|binary_sensor|button|event)\.\w+/g) ?? [];
  expect(named.length).toBeGreaterThan(10);
  const enabled = Object.values(components).filter((body) => body.enabled_by_default !== false);
  const entities = enabled.map((body) => body.default_entity_id);
  expect(named.filter((id) => !entities.includes(id))).toEqual([]);
});

test('each row of the dashboard has a name that a phone does not cut, and its graphs ask for series that are written', () => {
  const [{ cards }] = parse(read('home-assistant/dashboard.yaml')) as [{ cards: DashboardCard[] }];
  const rows = cards.flatMap(({ entities = [] }) => entities).filter(({ type }) => type !== 'divider');
  expect(rows.map(({ name }) => name ?? '').filter((name) => name === '' || name.length > 20)).toEqual([]);
  const graphs = cards.filter(({ type }) => type === 'statistics-graph');
  const asked = graphs.flatMap(({ entities = [] }) => entities.map(({ entity }) => entity));
  const series = seriesOf('heat2mqtt', { meter: METER, friendlyName: null, currency: 'EUR' }, [METER]);
  expect(asked).toEqual(series.map(({ id }) => id));
});

interface DashboardCard {
  readonly type: string;
  readonly entities?: readonly { readonly entity?: string; readonly name?: string; readonly type?: string }[];
}

describe.each(KNOWN_PROVIDERS)('the known provider $id', ({ id, name, source, provider, usage }) => {
  const text = read(`${id}.yaml`);
  const more = { nextTimes, readFile: async () => 'a password' };

  test('has an example that loads, with the same addresses', async () => {
    const { config } = await load(text, {}, more);
    expect(config).toMatchObject({ provider, usage });
  });

  test('is what the app of Home Assistant offers, and the README names', () => {
    const { schema } = parse(readFileSync(join(ROOT, 'app/config.yaml'), 'utf8'));
    expect(schema.provider).toBe(`list(${[...KNOWN_PROVIDERS.map((known) => known.id), 'other'].join('|')})`);
    for (const page of ['README.md', 'app/DOCS.md'])
      expect(readFileSync(join(ROOT, page), 'utf8')).toContain(name);
  });

  test('is said to be untried, with its source and without affiliation', () => {
    const words = text.replace(/\n# /g, ' ');
    expect(words).toContain(name);
    expect(words).toContain(UNTRIED);
    expect(words).toContain(source);
    expect(words).toContain('not affiliated with');
  });
});

interface Dashboard {
  readonly __inputs: readonly { readonly name: string; readonly pluginId: string }[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: string }[] };
  readonly panels: readonly {
    readonly id: number;
    readonly type: string;
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
    readonly datasource: object;
    readonly targets: readonly { readonly query: string; readonly datasource: object }[];
  }[];
}

test('the dashboard for Grafana asks for what the export writes, by variables and a source that it declares', () => {
  const dashboard: Dashboard = JSON.parse(read('grafana/heat.json'));
  const { __inputs: inputs, templating, panels } = dashboard;
  const source = { type: 'influxdb', uid: `\${${inputs[0]?.name}}` };
  const variables = ['v', ...templating.list.map(({ name }) => name)];
  const taken = new Set<string>();
  for (const { datasource, targets, gridPos } of panels) {
    for (const one of [datasource, ...targets.map((target) => target.datasource)])
      expect(one).toEqual(source);
    for (const { query } of targets) {
      expect(query).toMatch(/r\._measurement == "heat" and r\._field == "(energy_kwh|cost)" and r\.meter =~/);
      for (const [, name] of query.matchAll(/\$\{(\w+)/g)) expect(variables).toContain(name);
    }
    const { x, y, w, h } = gridPos;
    for (let at = 0; at < w * h; at += 1) {
      const place = `${x + (at % w)} ${y + Math.floor(at / w)}`;
      expect(taken.has(place), place).toBe(false);
      taken.add(place);
    }
    expect(x + w).toBeLessThanOrEqual(24);
  }
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
});

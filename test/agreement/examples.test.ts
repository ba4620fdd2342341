// The examples for Home Assistant name entities and topics that exist; the worked configuration lacks only what its user fills in.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { SCHEMAS } from '../../scripts/docs/schemas.ts';
import { isCronExpression } from '../../src/daemon/polling/schedule.ts';
import { load, refusal } from '../config/loading.ts';
import { bodyOf, discoveryBelow, discoveryOf } from '../support/inventedHome.ts';
import { kindOf } from '../support/payloads.ts';
import { ROOT } from '../support/sources.ts';

const read = (path: string) => readFileSync(join(ROOT, 'examples', path), 'utf8');

/** Every component of every document, by its key. */
const components: Record<string, Record<string, unknown>> = Object.assign(
  {},
  ...discoveryOf(discoveryBelow('heat2mqtt')).map((message) => bodyOf(message).components),
);

interface Blueprint {
  readonly blueprint: Record<string, unknown> & {
    readonly input: Record<
      string,
      { readonly name: string; readonly default?: unknown; readonly selector: object }
    >;
  };
  readonly triggers: readonly Record<string, unknown>[];
  readonly [key: string]: unknown;
}

/** What `!input` asks for, while it is read. */
function readBlueprint(file: string): { document: Blueprint; asked: Set<string> } {
  const asked = new Set<string>();
  const input = {
    tag: '!input',
    resolve: (name: string) => {
      asked.add(name);
      return { input: name };
    },
  };
  return { document: parse(read(`home-assistant/${file}`), { customTags: [input] }), asked };
}

const BLUEPRINTS = ['data-late.yaml', 'new-bill.yaml', 'unusual-use.yaml', 'heat-while-away.yaml'];

describe.each(BLUEPRINTS)('the blueprint %s', (file) => {
  const { document, asked } = readBlueprint(file);

  test('is one for automations, with an address to import it from, and asks for what it uses', () => {
    expect(document.blueprint).toMatchObject({ domain: 'automation', author: 'heat2mqtt' });
    expect(document.blueprint.source_url).toMatch(new RegExp(`/blob/main/examples/home-assistant/${file}$`));
    expect([...asked].sort()).toEqual(Object.keys(document.blueprint.input).sort());
    for (const { name, selector } of Object.values(document.blueprint.input))
      expect([name.length > 0, typeof selector]).toEqual([true, 'object']);
  });

  test('has triggers and actions in the words of Home Assistant 2024.10', () => {
    const known = ['blueprint', 'mode', 'triggers', 'variables', 'conditions', 'actions'];
    expect(Object.keys(document).filter((key) => !known.includes(key))).toEqual([]);
    expect(document.triggers.length).toBeGreaterThan(0);
    for (const trigger of document.triggers) expect(trigger).toHaveProperty('trigger');
    expect(document.actions).toEqual({ input: 'tell' });
  });
});

test('the selector of the late meter finds data_late', () => {
  const { data_late } = readBlueprint('data-late.yaml').document.blueprint.input;
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
  const { document } = readBlueprint(file);
  const kind = kindOf(String(document.blueprint.input.topic?.default)) ?? '';
  expect(kind).toBe(topic);
  expect(document.triggers).toMatchObject([{ trigger: 'mqtt', payload: type }]);
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

describe('yuno-energy.yaml', () => {
  const more = { validateCron: isCronExpression, readFile: async () => 'a password' };
  const text = read('yuno-energy.yaml');

  test('lacks the three things that its user fills in, and nothing else', async () => {
    const { message } = await refusal(text, {}, more);
    const lines = message.split('\n').map((line) => line.split(': ')[0]);
    expect(lines).toEqual(['provider.issuer', 'provider.api_url', 'provider.client_id']);
  });

  test('loads once they are there', async () => {
    const filled = text
      .replace('issuer:\n', 'issuer: https://id.example.org/auth/realms/energy\n')
      .replace('api_url:\n', 'api_url: https://api.example.org/api/v1\n')
      .replace('client_id:\n', 'client_id: self-care\n');
    const { config } = await load(filled, {}, more);
    expect(config.provider).toMatchObject({ client_id: 'self-care', scopes: ['openid', 'service-energy'] });
  });

  test('says that the project is not affiliated', () => {
    expect(text.replace(/\n# /g, ' ')).toContain('not affiliated with Yuno Energy');
  });
});

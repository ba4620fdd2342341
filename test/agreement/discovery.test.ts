// Discovery as it was released: ids, topics and unique ids are what Home Assistant remembers people's history by.
import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { about } from '../../src/foundation/about.ts';
import { type Fields, isFields } from '../support/fields.ts';
import { bodyOf, discoveryBelow, discoveryOf } from '../support/inventedHome.ts';

const FIXTURES = new URL('../fixtures/discovery/', import.meta.url);
const messages = discoveryOf(discoveryBelow('heat2mqtt'));
const NAMES = ['bridge', 'account', 'meter'];

/** What a file holds: the topic and the document on it, the program's own version left open. */
function baseline(at: number): string {
  const message = messages[at];
  const text = JSON.stringify({ topic: message?.topic, payload: bodyOf(message) }, null, 2);
  return `${text.replaceAll(`"sw_version": "${about.version}"`, '"sw_version": "<version>"')}\n`;
}

describe.each(NAMES.map((name, at) => [name, at] as const))('the document of the %s', (name, at) => {
  test('is the committed one (`vitest -u` writes it anew)', async () => {
    await expect(baseline(at)).toMatchFileSnapshot(`../fixtures/discovery/${name}.json`);
  });

  // Kept apart from the text above: `vitest -u` must not wave a lost id through. New ones are added by hand.
  test('has every id, topic and platform that was ever given out, and each is written down', async () => {
    const given = await idsIn('ids.json');
    expect(identities(bodyOf(messages[at]), messages[at]?.topic ?? '').sort()).toEqual(
      [...(given[name] ?? [])].sort(),
    );
  });
});

test('there is a baseline for each document and no other', async () => {
  expect((await readdir(FIXTURES)).sort()).toEqual(
    [...NAMES.map((name) => `${name}.json`), 'ids.json'].sort(),
  );
  expect(messages).toHaveLength(NAMES.length);
});

async function idsIn(file: string): Promise<Readonly<Record<string, readonly string[]>>> {
  return JSON.parse(await readFile(new URL(file, FIXTURES), 'utf8'));
}

/** All that Home Assistant keys its registry by, one line each. */
function identities({ device, components }: Fields, topic: string): string[] {
  const bodies = isFields(components) ? Object.entries(components) : [];
  return [
    `topic ${topic}`,
    `device ${isFields(device) ? String(device.identifiers) : ''}`,
    ...bodies.flatMap(([key, body]) =>
      isFields(body) ? [`${key} ${body.platform} ${body.unique_id} ${body.default_entity_id}`] : [],
    ),
  ];
}

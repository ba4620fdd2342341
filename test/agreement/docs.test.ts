// The pages for people: every command is tried somewhere, every link leads somewhere, and every piece of configuration loads.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { fileSchema } from '../../src/config/schema.ts';
import { nextTimes } from '../../src/engine/schedule.ts';
import { load } from '../config/loading.ts';
import { commandsOf, docCommands, pages, RUN, reasonElsewhere } from '../support/docCommands.ts';
import { ROOT } from '../support/sources.ts';

const texts = [...pages(), 'CONTRIBUTING.md', 'SECURITY.md'].map(
  (page) => [page, readFileSync(join(ROOT, page), 'utf8')] as const,
);

test('every command is run by test/e2e/docs.test.ts, or test/support/docCommands.ts says why not', () => {
  const unknown = docCommands().filter(({ command }) => !RUN.test(command) && !reasonElsewhere(command));
  expect(unknown).toEqual([]);
});

test('commands are found as they are written', () => {
  const text =
    'x\n```sh\n# first\n$ a b   # told\nc \\\n  --d\n```\n\n1. y\n\n   ```console\n   e\n   ```\n```yaml\nf: g\n```\n';
  expect(commandsOf('p.md', text)).toEqual([
    { file: 'p.md', line: 4, command: 'a b' },
    { file: 'p.md', line: 5, command: 'c --d' },
    { file: 'p.md', line: 12, command: 'e' },
  ]);
});

describe.each(texts)('%s', (page, text) => {
  test('has no link that leads nowhere', () => {
    const links = [...text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, target = '']) => target);
    const dead = links.filter((target) => {
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? page : join(dirname(page), path);
      if (!existsSync(join(ROOT, file))) return true;
      return anchor !== undefined && !anchorsOf(readFileSync(join(ROOT, file), 'utf8')).includes(anchor);
    });
    expect(dead).toEqual([]);
  });

  const pieces = [...text.matchAll(/^([ ]*)```yaml\n([\s\S]*?)^\1```$/gm)].map(({ 2: body = '' }) => body);
  test.each(pieces.filter(isOurs))('its configuration loads: %s', async (piece) => {
    const whole = JSON.stringify({ ...USUAL, ...parse(piece) });
    const loaded = load(whole, {}, { nextTimes, readFile: async () => 'a secret' });
    await expect(loaded).resolves.toBeDefined();
  });
});

const USUAL = {
  provider: { issuer: 'https://id.example.org/realms/x', api_url: 'https://api.example.org', client_id: 'x' },
  accounts: [{ username: 'me@example.org', password: 'x' }],
  mqtt: { url: 'mqtt://localhost' },
};

/** Compose files and blueprints are YAML too. */
function isOurs(piece: string): boolean {
  const parsed: unknown = parse(piece);
  return (
    typeof parsed === 'object' &&
    parsed !== null &&
    Object.keys(parsed).every((key) => key in fileSchema.shape)
  );
}

/** As GitHub makes them. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/ /g, '-'),
  );
}

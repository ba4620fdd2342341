// docs/topics.md is what the tables say (`vitest -u` writes it anew), and it tells of every topic there is.
import { expect, test } from 'vitest';
import { topicReference } from '../../scripts/docs/topics.ts';
import { topicsBelow } from '../../src/publication/topics.ts';

test('docs/topics.md is current', async () => {
  await expect(topicReference()).toMatchFileSnapshot('../../docs/topics.md');
});

test('every topic that can be built is in it', () => {
  const text = topicReference();
  const written = new Set([...text.matchAll(/^\| `(<base>[^`]*)`/gm)].map(([, topic]) => topic));
  const topics = topicsBelow('<base>');
  const built = [
    topics.state,
    topics.info,
    topics.health,
    topics.bridgeEvent,
    topics.request('<what>'),
    topics.meterState('<meter>'),
    topics.meterUsage('<meter>', '<interval>'),
    topics.meterHistory('<meter>'),
    topics.meterEvent('<meter>'),
    topics.accountState('<account>'),
    topics.accountInvoices('<account>'),
    topics.accountEvent('<account>'),
    topics.constituenciesSummary,
    topics.constituencies('<chamber>/<house_no>'),
    '<base>/bridge/response/<what>',
  ];
  expect([...written].sort()).toEqual(built.sort());
});

test('no cell is broken: each table has as many columns in every line', () => {
  const tables = topicReference()
    .trim()
    .split('\n\n')
    .filter((block) => block.startsWith('|'));
  expect(tables).toHaveLength(4);
  for (const block of tables) {
    const widths = block.split('\n').map((line) => line.split(/(?<!\\)\|/).length);
    expect(new Set(widths).size).toBe(1);
  }
});

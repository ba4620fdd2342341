// heat2mqtt mcp: both eras of its protocol, its questions beside a running daemon, and nothing in the answers that names anybody.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type * as z from 'zod';
import {
  billsAnswer,
  costAnswer,
  forecastAnswer,
  healthAnswer,
  statementAnswer,
  usageAnswer,
} from '../../src/cli/mcp/answers.ts';
import { readDisk } from '../../src/cli/mcp/disk.ts';
import { answerLine, type Tool } from '../../src/cli/mcp/protocol.ts';
import { toolsOf } from '../../src/cli/mcp/tools.ts';
import { openSettings } from '../../src/cli/settings.ts';
import { home, ME, METER, PROPERTY, person, quiet, STATE } from '../support/homes.ts';
import { firstPoll } from '../support/story.ts';
import { ioTo } from '../support/typed.ts';

const ECHO: Tool = {
  name: 'echo',
  description: 'Says it again.',
  inputSchema: { type: 'object' },
  outputSchema: { type: 'object' },
  call: async (given) => ({ sentence: 'Again.', data: { given } }),
};
const say = (message: unknown) => answerLine(JSON.stringify(message), [ECHO]);
const asked = (method: string, params: object = {}) => say({ jsonrpc: '2.0', id: 7, method, params });
const modern = (revision: string, more: object = {}) => ({
  _meta: { 'io.modelcontextprotocol/protocolVersion': revision },
  ...more,
});

test.each([
  ['2024-11-05', '2024-11-05'],
  ['2025-11-25', '2025-11-25'],
  ['1999-01-01', '2025-11-25'],
])('answers a handshake that asks for %s with %s', async (protocolVersion, answered) => {
  expect(await asked('initialize', { protocolVersion })).toMatchObject({
    id: 7,
    result: { protocolVersion: answered, serverInfo: { name: 'heat2mqtt' }, capabilities: { tools: {} } },
  });
});

test('completes each result when there is no handshake, and tells an unknown revision which are known', async () => {
  const params = modern('2026-07-28', { name: 'echo', arguments: { a: 1 } });
  expect(await asked('tools/call', params)).toMatchObject({
    result: { resultType: 'complete', structuredContent: { given: { a: 1 } }, _meta: expect.anything() },
  });
  expect(await asked('tools/list', modern('2026-07-28'))).toMatchObject({
    result: {
      ttlMs: expect.any(Number),
      cacheScope: 'public',
      tools: [{ annotations: { readOnlyHint: true } }],
    },
  });
  expect(await asked('server/discover')).toMatchObject({
    result: { supportedVersions: expect.arrayContaining(['2026-07-28', '2025-11-25']) },
  });
  expect(await asked('ping', modern('2099-01-01'))).toMatchObject({
    error: { code: -32022, data: { supported: expect.arrayContaining(['2026-07-28']) } },
  });
});

test('answers a ping when a client asks whether it is alive', async () => {
  expect(await asked('ping')).toMatchObject({ id: 7, result: {} });
});

test.each<[string, string, number | null]>([
  ['what is no JSON', '{', -32700],
  ['an unknown method', '{"jsonrpc":"2.0","id":1,"method":"resources/list"}', -32601],
  ['an unknown tool', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm"}}', -32602],
  [
    'a list of arguments',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":[]}}',
    -32602,
  ],
  ['an empty list', '[]', -32600],
  ['a notification', '{"jsonrpc":"2.0","method":"notifications/initialized"}', null],
  ['an answer to nothing', '{"jsonrpc":"2.0","id":1,"result":{}}', null],
])('%s is answered with %s', async (_name, line, code) => {
  const answer = await answerLine(line, [ECHO]);
  if (code === null) expect(answer).toBeNull();
  else expect(answer).toMatchObject({ error: { code } });
});

test('answers each message of a batch in its order, and nothing when none of them wants an answer', async () => {
  const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' });
  const notification = { jsonrpc: '2.0', method: 'notifications/initialized' };
  expect(await say([ping(1), notification, 1, ping(2)])).toMatchObject([
    { id: 1, result: {} },
    { id: null, error: { code: -32600 } },
    { id: 2, result: {} },
  ]);
  expect(await say([notification])).toBeNull();
});

test('answers whatever the line is', async () => {
  const lines = fc.oneof(fc.string(), fc.json());
  await fc.assert(
    fc.asyncProperty(lines, async (line) => {
      const answer = await answerLine(line, [ECHO]);
      expect(JSON.stringify(answer)).toBeTypeOf('string');
    }),
  );
});

const ANSWERS: Record<string, z.ZodType> = {
  usage: usageAnswer,
  bills: billsAnswer,
  statement: statementAnswer,
  forecast: forecastAnswer,
  what_would_it_cost: costAnswer,
  health: healthAnswer,
};

const NAMED = person('me', [home(METER, quiet())]);

async function beside(more: object = {}, resident = NAMED) {
  const config = { meters: { [METER]: { name: 'CANARY flat' } }, ...more };
  const { story, probe, state } = await firstPoll({ accounts: [resident], config });
  const path = await story.configuredAt(config);
  const io = { ...ioTo([]), clock: story.clock };
  const tools = toolsOf(async () => readDisk(await openSettings({ path }, io), io));
  async function ask(name: string, given: object = {}) {
    const line = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: given },
    });
    const answer = await answerLine(line, tools);
    story.alsoSaid(JSON.stringify(answer));
    const { result } = answer as {
      result: { structuredContent?: Record<string, never>; isError?: boolean; content: [{ text: string }] };
    };
    if (result.structuredContent) ANSWERS[name]?.parse(result.structuredContent);
    return result;
  }
  return { story, probe, state, ask };
}

test('answers with the values that a daemon beside it publishes, and names nobody', async () => {
  const { story, probe, state, ask } = await beside();
  const bills = await probe.until('heat2mqtt/account/home/invoices', () => true);
  const files = await story.stateFiles();
  const month = probe.json(`heat2mqtt/meter/${METER}/usage/month`)?.buckets as {
    start: string;
    energy_kwh: number;
    cost_eur: number;
  }[];

  const usage = await ask('usage', { from: '2025-01-01', to: '2025-03-10' });
  expect(usage.structuredContent).toMatchObject({
    interval: 'month',
    meters: [
      {
        meter: 1,
        currency: 'EUR',
        periods: month.map(({ start, energy_kwh, cost_eur }) => ({
          from: start.slice(0, 10),
          energy_kwh,
          cost: cost_eur,
        })),
      },
    ],
  });
  const told = (await ask('bills', { most: 24 })).structuredContent;
  expect(told).toMatchObject({
    accounts: [
      {
        bills: (
          bills.invoices as {
            amount: number;
            check: null | { verdict: string; unexplained: number; sentence: string };
          }[]
        ).map(({ amount, check }, at) => ({
          bill: at + 1,
          amount,
          verdict: check?.verdict ?? null,
          unexplained: check?.unexplained ?? null,
          sentence: check?.sentence ?? null,
        })),
      },
    ],
  });
  const forecast = (await ask('forecast')).structuredContent;
  expect(forecast).toMatchObject({
    accounts: [
      {
        meters: [
          {
            month_so_far: { energy_kwh: state.energy_month, cost: state.cost_month },
            month: {
              energy_kwh: {
                expected: state.energy_month_forecast,
                low: state.energy_month_forecast_low,
                high: state.energy_month_forecast_high,
              },
            },
          },
        ],
      },
    ],
  });
  const published = probe.json(`heat2mqtt/meter/${METER}/statement`);
  const { statements } = (await ask('statement')).structuredContent as unknown as {
    statements: Record<string, unknown>[];
  };
  expect(statements).toMatchObject([
    { meter: 1, month: published?.month, months: published?.months, conclusion: published?.conclusion },
  ]);
  const health = (await ask('health')).structuredContent;
  expect(health).toMatchObject({
    accounts: [
      {
        failures_in_a_row: 0,
        last_error: null,
        meters: [{ newest_day: state.day, days_missing: state.missing_days }],
      },
    ],
  });
  const cost = (
    await ask('what_would_it_cost', {
      from: '2025-02-01',
      to: '2025-02-28',
      unit_rate: 0,
      standing_charge: 1,
    })
  ).structuredContent;
  expect(cost).toMatchObject({ meters: [{ would_cost: 28, days_with_a_reading: 28 }] });

  const all = JSON.stringify([usage, told, forecast, statements, health, cost]);
  for (const canary of [
    'CANARY',
    METER,
    ME.username,
    ...(bills.invoices as { id: string }[]).map(({ id }) => id),
  ])
    expect(all).not.toContain(canary);
  // Nothing was written.
  expect(await story.stateFiles()).toEqual(files);
  expect(probe.json(STATE)).toEqual(state);
});

test('costs the days that are known, at once, when the span is every day of the calendar', async () => {
  const { ask } = await beside();
  const given = { unit_rate: 0, standing_charge: 1 };
  const known = await ask('what_would_it_cost', { from: '2025-01-01', to: '2025-03-10', ...given });
  const began = performance.now();
  const all = await ask('what_would_it_cost', { from: '0000-01-01', to: '9999-12-31', ...given });
  expect(performance.now() - began).toBeLessThan(5_000);
  expect(all.structuredContent).toEqual(known.structuredContent);
  const later = await ask('what_would_it_cost', { from: '9999-12-30', to: '9999-12-31', ...given });
  expect(later.structuredContent).toMatchObject({ meters: [{ did_cost: null, would_cost: null }] });
});

test('each meter keeps its number when the history of another is not on the disk', async () => {
  const homes = [home(METER, quiet()), home('70418236', quiet(), 512_002)];
  const { story, ask } = await beside({}, person('me', homes));
  const span = { from: '2025-02-01', to: '2025-02-28' };
  const both = (await ask('usage', span)).structuredContent as { meters: unknown[] } | undefined;
  expect(both?.meters).toHaveLength(2);
  await rm(join(story.stateDir, `accounts/home/ledger-${PROPERTY}.json`));
  expect((await ask('usage', span)).structuredContent).toMatchObject({ meters: [both?.meters[1]] });
  const { isError, content } = await ask('usage', { ...span, meter: 1 });
  expect([isError, content[0].text]).toEqual([true, expect.stringContaining('No whole history')]);
});

test('an argument that has a default is not required, and each question says what its answer is made of', async () => {
  const tools = toolsOf(async () => []);
  expect(
    Object.fromEntries(
      tools.map(({ name, inputSchema }) => [name, 'required' in inputSchema && inputSchema.required]),
    ),
  ).toEqual({
    usage: ['from', 'to'],
    bills: false,
    statement: false,
    forecast: false,
    what_would_it_cost: ['from', 'to', 'unit_rate', 'standing_charge'],
    health: false,
  });
  for (const { outputSchema } of tools)
    expect(outputSchema).toMatchObject({ type: 'object', additionalProperties: false });
});

const MISTAKES: [string, object, string][] = [
  ['usage', { from: '2025-01-01' }, 'to: found nothing; allowed: a day of the calendar as YYYY-MM-DD'],
  [
    'usage',
    { from: '2025-02-30', to: '2025-03-01' },
    'from: found "2025-02-30"; allowed: a day of the calendar',
  ],
  [
    'usage',
    { from: '2025-02-01', to: '2025-03-01', interval: 'hour' },
    'interval: found "hour"; allowed: day, week, month',
  ],
  ['usage', { from: '2025-03-02', to: '2025-03-01' }, 'not after 2025-03-01'],
  ['usage', { from: '2025-03-01', to: '2025-03-02', meter: 9 }, 'allowed: 1 to 1'],
  ['statement', { month: '1999-01' }, 'found 1999-01; allowed: 2025-01 to 2025-02'],
  ['bills', { most: 0 }, 'most: found 0; allowed: 1 to 60'],
  ['forecast', { city: 'x' }, 'Unknown parameter "city"; allowed: none.'],
];

test('says what is allowed in its result when an argument is not', async () => {
  const { ask } = await beside();
  for (const [name, given, words] of MISTAKES) {
    const { isError, content } = await ask(name, given);
    expect([isError, content[0].text]).toEqual([true, expect.stringContaining(words)]);
  }
});

test('names the argument when it has more values within one another than can be written', async () => {
  const [tool] = toolsOf(async () => []).filter(({ name }) => name === 'statement');
  const month = JSON.parse('['.repeat(20_000) + ']'.repeat(20_000));
  await expect(tool?.call({ month })).rejects.toThrow(/^month: found .+; allowed: a month as YYYY-MM/);
});

test.each<[string, object]>([
  ['usage', { from: '2025-03-01', to: '2025-03-02' }],
  ['statement', {}],
  ['forecast', {}],
  ['what_would_it_cost', { from: '2025-03-01', to: '2025-03-02', unit_rate: 1, standing_charge: 1 }],
])('refuses %s when no history is on the disk yet', async (name, given) => {
  const [tool] = toolsOf(async () => []).filter((each) => each.name === name);
  await expect(tool?.call({ ...given })).rejects.toMatchObject({ code: 'no_readings' });
});

test('says that no month is complete when the history is younger than one', async () => {
  const { ask } = await beside({ usage: { history_since: '2025-03-02' } });
  const { isError, content } = await ask('statement');
  expect([isError, content[0].text]).toEqual([true, expect.stringContaining('No month is complete yet.')]);
});

// A Home Assistant that does not take statistics: a clear reason with advice, polls that go on, and recovery by itself.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { HEALTH, reading, STATE } from '../support/homes.ts';
import type { PretendHomeAssistant } from '../support/pretendHomeAssistant.ts';
import { COST, ENERGY, HISTORY, openStatisticsStory } from '../support/statisticsStory.ts';
import { openWire } from '../support/wire.ts';

const HOUR_MS = 3_600_000;

type Switches = PretendHomeAssistant['switches'];
type Answer = NonNullable<ReturnType<Switches['instead']['get']>>;

const TROUBLES: readonly (readonly [what: string, code: string, advice: string, Partial<Switches>])[] = [
  ['the user is no administrator', 'not_admin', 'administrators', { isAdmin: false }],
  ['it is starting up', 'starting', 'by itself', { state: 'STARTING' }],
  [
    'it sends us to another machine',
    'moved',
    'home_assistant.url',
    { httpStatus: 307, location: 'http://elsewhere.example.org/api/websocket' },
  ],
  [
    'it refuses an import',
    'refused',
    "Home Assistant's log",
    instead('import_statistics', (socket, id) => {
      const error = { code: 'home_assistant_error', message: 'quoting <secrets>' };
      socket.send(JSON.stringify({ id, type: 'result', success: false, error }));
    }),
  ],
  [
    'it talks nonsense',
    'cut',
    'next time',
    instead('statistics_during_period', (socket) => socket.send('<html>')),
  ],
  [
    'it answers in another shape',
    'strange',
    'report',
    instead('statistics_during_period', (socket, id) => {
      const result = { [ENERGY]: [{ start: '2025', state: {}, sum: [] }] };
      socket.send(JSON.stringify({ id, type: 'result', success: true, result }));
    }),
  ],
];

/** Once: the next question is answered as it should be. */
function instead(question: string, answer: Answer): Partial<Switches> {
  return { instead: new Map([[`recorder/${question}`, answer]]) };
}

test('each trouble is told with advice, polls go on, and it recovers', async () => {
  const { story, ha, probe, codes, settled, until, mark } = await openStatisticsStory();
  await settled();
  const well = { ...ha.switches };
  for (const [what, code, advice, broken] of TROUBLES) {
    ha.series.clear();
    ha.metadata.clear();
    Object.assign(ha.switches, broken);
    await story.nextPoll(60_000);
    await until('failing');
    const health = probe.json(HEALTH);
    expect([what, codes(), health]).toMatchObject([
      what,
      [`home_assistant_${code}`],
      { state: 'degraded', failures_in_a_row: 0 },
    ]);
    expect(JSON.stringify(health?.reasons)).toContain(advice);
    expect(JSON.stringify(health)).not.toContain('<secrets>');
    Object.assign(ha.switches, well);
    mark();
    await story.pass(2 * 60_000, 30_000);
    await until('ok');
    expect([what, codes()]).toEqual([what, []]);
    expect(ha.rows(COST).map(([, , sum]) => sum)).toEqual([2.5, 5, 7.5]);
  }
});

test('nobody there: told once in the log, tried ever more seldom, and polls go on', async () => {
  const { story, probe, codes, start, until } = await openStatisticsStory();
  const door = story.stack.use(await openWire());
  await start({ home_assistant: { url: door.url.replace('mqtt', 'ws'), token: 'x-of-nobody' } });
  await until('failing');
  expect(codes()).toEqual(['home_assistant_unreachable']);
  await story.pass(4 * HOUR_MS, 120_000);
  const told = story.logged('statistics could not be written');
  expect(told).toHaveLength(1);
  expect(door.attempts).toBeGreaterThan(8);
  expect(door.attempts).toBeLessThan(20);
  await probe.until(STATE, ({ energy_total }) => energy_total === 30);
});

test('a refused token is offered once more after a minute; a new one in the file is taken at once', async () => {
  const { story, ha, codes, start, until } = await openStatisticsStory();
  const file = join(story.stateDir, 'token');
  await writeFile(file, 'the-wrong-token\n');
  await start({ home_assistant: { url: ha.url, token_file: file } });
  await until('failing');
  expect(codes()).toEqual(['home_assistant_token_refused']);
  await story.pass(HOUR_MS, 60_000);
  expect(ha.tokens).toEqual(['the-wrong-token', 'the-wrong-token']);
  await writeFile(file, `${ha.switches.token}\n`);
  await story.pass(60_000, 5_000);
  await until('ok');
  expect(ha.tokens).toContain(ha.switches.token);
  expect(codes()).toEqual([]);
});

test('a good token that was refused while Home Assistant restarted is taken a minute later', async () => {
  const { story, ha, codes, start, until } = await openStatisticsStory(HISTORY);
  const { token } = ha.switches;
  ha.switches.token = 'of nobody while it starts';
  await start();
  await until('failing');
  ha.switches.token = token;
  await story.pass(90_000, 5_000);
  await until('ok');
  expect(codes()).toEqual([]);
});

test('silence does not hold a poll up, and is told when the time is over', async () => {
  const { story, ha, probe, codes, start, until, pollAt } = await openStatisticsStory([
    ...HISTORY,
    reading('2025-03-11', 9, 2.25),
  ]);
  ha.switches.mute = true;
  await start();
  await pollAt('2025-03-11T12:00:00Z', 'failing');
  await probe.until(STATE, ({ energy_total }) => energy_total === 39);
  await story.pass(61_000);
  await until('failing');
  expect(codes()).toEqual(['home_assistant_silent']);
  ha.switches.mute = false;
  await story.pass(2 * 60_000, 5_000);
  await until('ok');
  expect(ha.rows(ENERGY)).toHaveLength(4);
});

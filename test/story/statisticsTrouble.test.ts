// A Home Assistant that does not take statistics: a clear reason with advice, polls that go on, recovery by itself, and a quick way out.
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CANARY } from '../support/canaries.ts';
import { HEALTH, STATE } from '../support/homes.ts';
import type { PretendHomeAssistant } from '../support/pretendHomeAssistant.ts';
import { COST, ENERGY, openStatisticsStory } from '../support/statisticsStory.ts';
import { HOUR_MS } from '../support/story.ts';
import { openWire } from '../support/wire.ts';

type Switches = PretendHomeAssistant['switches'];
type Answer = NonNullable<ReturnType<Switches['instead']['get']>>;

/** Once: the next question is answered as it should be. */
function instead(question: string, answer: Answer): Partial<Switches> {
  return { instead: new Map([[`recorder/${question}`, answer]]) };
}

const { opaqueToken } = CANARY;

// They quote the token, which is searched for when the story ends.
const TROUBLES: readonly (readonly [what: string, code: string, advice: string, Partial<Switches>])[] = [
  ['the user is no administrator', 'not_admin', 'administrators', { isAdmin: false }],
  ['it is starting up', 'starting', 'by itself', { state: 'STARTING' }],
  [
    'it sends us to another machine',
    'moved',
    'home_assistant.url',
    { httpStatus: 307, location: `http://elsewhere.example.org/${opaqueToken}` },
  ],
  [
    'it refuses an import',
    'refused',
    "Home Assistant's log",
    instead('import_statistics', (socket, id) => {
      const error = { code: opaqueToken, message: `quoting ${opaqueToken} ${CANARY.name}` };
      socket.send(JSON.stringify({ id, type: 'result', success: false, error }));
    }),
  ],
  ['it leaves', 'cut', 'next time', instead('info', (socket) => socket.close(1011, opaqueToken))],
  [
    'it answers in another shape',
    'strange',
    'report',
    instead('statistics_during_period', (socket, id) => {
      const result = { [ENERGY]: [{ start: '2025', state: {}, sum: [] }], [opaqueToken]: CANARY.address };
      socket.send(JSON.stringify({ id, type: 'result', success: true, result }));
    }),
  ],
];

test('each trouble is told with advice and no secret, polls go on, and it recovers', async () => {
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
  expect(story.logged('statistics could not be written')).toHaveLength(1);
  expect(door.attempts).toBeGreaterThan(8);
  expect(door.attempts).toBeLessThan(20);
  await probe.until(STATE, ({ energy_total }) => energy_total === 30);
});

test('a refused token is offered once more after a minute, not for a file that was away; a new one is taken at once', async () => {
  const { story, ha, codes, start, until } = await openStatisticsStory();
  const file = join(story.stateDir, 'token');
  await writeFile(file, 'the-wrong-token\n');
  await start({ home_assistant: { url: ha.url, token_file: file } });
  await until('failing');
  expect(codes()).toEqual(['home_assistant_token_refused']);
  await story.pass(HOUR_MS, 60_000);
  await rm(file);
  await story.pass(120_000, 5_000);
  expect(codes()).toEqual(['secret_unreadable']);
  await writeFile(file, 'the-wrong-token\n');
  await story.pass(HOUR_MS, 60_000);
  expect(codes()).toEqual(['home_assistant_token_refused']);
  expect(ha.tokens).toEqual(['the-wrong-token', 'the-wrong-token']);
  await writeFile(file, `${ha.switches.token}\n`);
  await story.pass(60_000, 5_000);
  await until('ok');
  expect(codes()).toEqual([]);
});

test('a recorder that takes its time is waited for, one that never stores is told, and leaving meanwhile is quick', async () => {
  const { story, ha, probe, status, codes, start, until } = await openStatisticsStory();
  ha.switches.slow = true;
  const daemon = await start();
  await until('importing');
  await story.pass(30_000, 1_000);
  expect([ha.rows(ENERGY), ha.imports()]).toEqual([[], [3]]);
  expect(status()).toMatchObject({ series: ENERGY, rows_stored: 0, rows_total: 3 });
  ha.commit();
  await story.pass(10_000, 1_000);
  expect(ha.imports()).toEqual([3, 3]);
  await story.pass(130_000, 5_000);
  await until('failing');
  expect(codes()).toEqual(['home_assistant_not_stored']);
  await until('importing');
  // No poll waits for it.
  await story.nextPoll();
  expect(ha.open).toBe(1);
  let openAtTheEnd: number | undefined;
  probe.onMessage(({ topic, payload }) => {
    if (topic === 'heat2mqtt/bridge/state' && payload === 'offline') openAtTheEnd = ha.open;
  });
  expect(await story.stop(daemon)).toBeLessThan(2_000);
  expect(openAtTheEnd).toBe(0);
  await story.pass(5_000);
  expect(probe.heard.at(-1)).toMatchObject({ topic: 'heat2mqtt/bridge/state', payload: 'offline' });
  expect(story.log.filter(({ msg }) => /shutdown step/.test(String(msg)))).toEqual([]);
});

// A Home Assistant that does not take statistics: a clear reason with advice, polls that go on, and recovery by itself.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { HEALTH, reading, STATE } from '../support/homes.ts';
import type { PretendHomeAssistant } from '../support/pretendHomeAssistant.ts';
import { COST, ENERGY, HISTORY, openStatisticsStory } from '../support/statisticsStory.ts';
import { openWire } from '../support/wire.ts';

const HOUR_MS = 3_600_000;

interface Trouble {
  readonly what: string;
  readonly code: string;
  readonly advice: string;
  readonly make: (ha: PretendHomeAssistant) => void;
  readonly mend: (ha: PretendHomeAssistant) => void;
}

const switched = (
  broken: Partial<PretendHomeAssistant['switches']>,
  mended: Partial<PretendHomeAssistant['switches']>,
) => ({
  make: ({ switches }: PretendHomeAssistant) => void Object.assign(switches, broken),
  mend: ({ switches }: PretendHomeAssistant) => void Object.assign(switches, mended),
});

const TROUBLES: readonly Trouble[] = [
  {
    what: 'the user is no administrator',
    code: 'not_admin',
    advice: 'administrators',
    ...switched({ isAdmin: false }, { isAdmin: true }),
  },
  {
    what: 'it is too old',
    code: 'too_old',
    advice: '2025.11 or newer',
    ...switched({ version: '2025.10.4' }, { version: '2025.11.0' }),
  },
  {
    what: 'it is starting up',
    code: 'starting',
    advice: 'by itself',
    ...switched({ state: 'STARTING' }, { state: 'RUNNING' }),
  },
  {
    what: 'it restarts behind the proxy of the Supervisor',
    code: 'starting',
    advice: 'by itself',
    ...switched({ httpStatus: 502 }, { httpStatus: null }),
  },
  {
    what: 'its recorder is not loaded',
    code: 'no_recorder',
    advice: 'recorder:',
    ...switched({ hasRecorder: false }, { hasRecorder: true }),
  },
  {
    what: 'something else answers there',
    code: 'no_home_assistant',
    advice: '/api/websocket',
    ...switched({ httpStatus: 404 }, { httpStatus: null }),
  },
  {
    what: 'it sends us to another machine',
    code: 'moved',
    advice: 'home_assistant.url',
    ...switched(
      { httpStatus: 307, location: 'http://elsewhere.example.org/api/websocket' },
      { httpStatus: null },
    ),
  },
  {
    what: 'it refuses an import',
    code: 'refused',
    advice: "Home Assistant's log",
    make: ({ switches }) => {
      switches.instead.set('recorder/import_statistics', (socket, id) => {
        const error = { code: 'home_assistant_error', message: 'quoting <secrets>' };
        socket.send(JSON.stringify({ id, type: 'result', success: false, error }));
      });
    },
    mend: () => undefined,
  },
  {
    what: 'it talks nonsense',
    code: 'cut',
    advice: 'next time',
    make: ({ switches }) => {
      switches.instead.set('recorder/statistics_during_period', (socket) => socket.send('<html>'));
    },
    mend: () => undefined,
  },
  {
    what: 'it answers in another shape',
    code: 'strange',
    advice: 'report',
    make: ({ switches }) => {
      switches.instead.set('recorder/statistics_during_period', (socket, id) => {
        const result = { [ENERGY]: [{ start: '2025', state: {}, sum: [] }] };
        socket.send(JSON.stringify({ id, type: 'result', success: true, result }));
      });
    },
    mend: () => undefined,
  },
];

test.each(TROUBLES)('$what: told with advice, polls go on, and it recovers', async ({ code, ...trouble }) => {
  const { story, ha, probe, codes, start, until } = await openStatisticsStory();
  trouble.make(ha);
  await start();
  await probe.until(STATE, ({ energy_total }) => energy_total === 30);
  await until('failing');
  expect(codes()).toEqual([`home_assistant_${code}`]);
  expect(JSON.stringify(probe.json(HEALTH)?.reasons)).toContain(trouble.advice);
  expect(JSON.stringify(probe.json(HEALTH))).not.toContain('<secrets>');
  expect(probe.json(HEALTH)).toMatchObject({ state: 'degraded', failures_in_a_row: 0 });
  trouble.mend(ha);
  await story.pass(2 * 60_000, 5_000);
  await until('ok');
  expect(codes()).toEqual([]);
  expect(ha.rows(COST).map(([, , sum]) => sum)).toEqual([2.5, 5, 7.5]);
});

test('nobody there: told once in the log, tried ever more seldom, and polls go on', async () => {
  const { story, probe, codes, start, until } = await openStatisticsStory();
  const door = story.stack.use(await openWire());
  await start({ home_assistant: { url: door.url.replace('mqtt', 'ws'), token: 'x-of-nobody' } });
  await until('failing');
  expect(codes()).toEqual(['home_assistant_unreachable']);
  await story.pass(4 * HOUR_MS, 60_000);
  const told = story.logged('statistics could not be written');
  expect(told).toHaveLength(1);
  expect(door.attempts).toBeGreaterThan(8);
  expect(door.attempts).toBeLessThan(20);
  await probe.until(STATE, ({ energy_total }) => energy_total === 30);
});

test('a refused token is offered once; a new one in the file is taken at once', async () => {
  const { story, ha, codes, start, until } = await openStatisticsStory();
  const file = join(story.stateDir, 'token');
  await writeFile(file, 'the-wrong-token\n');
  await start({ home_assistant: { url: ha.url, token_file: file } });
  await until('failing');
  expect(codes()).toEqual(['home_assistant_token_refused']);
  await story.pass(HOUR_MS, 15_000);
  expect(ha.tokens).toEqual(['the-wrong-token']);
  await writeFile(file, `${ha.switches.token}\n`);
  await story.pass(60_000, 5_000);
  await until('ok');
  expect(ha.tokens).toContain(ha.switches.token);
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

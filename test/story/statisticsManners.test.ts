// Manners towards Home Assistant: the token stays private, redirects are followed with care, and leaving is quick.
import { expect, test } from 'vitest';
import { CANARY } from '../support/canaries.ts';
import { openStatisticsStory } from '../support/statisticsStory.ts';

test('leaving in the middle of an import is quick, and Home Assistant is left before the broker is', async () => {
  const { story, ha, probe, start, until } = await openStatisticsStory();
  ha.switches.slow = true;
  const daemon = await start();
  await until('importing');
  expect(ha.open).toBe(1);
  let openAtTheEnd: number | undefined;
  probe.onMessage(({ topic, payload }) => {
    if (topic === 'heat2mqtt/bridge/state' && payload === 'offline') openAtTheEnd = ha.open;
  });
  expect(await story.stop(daemon)).toBeLessThan(2_000);
  expect(openAtTheEnd).toBe(0);
  await story.pass(5_000);
  expect(probe.heard.at(-1)).toMatchObject({ topic: 'heat2mqtt/bridge/state', payload: 'offline' });
  expect(story.log.filter(({ msg }) => /shutdown step|statistics could not/.test(String(msg)))).toEqual([]);
});

test('a time zone that is not ours is told in the log, once', async () => {
  const { story, ha, settled, pollAt } = await openStatisticsStory();
  ha.switches.timezone = 'America/New_York';
  await settled();
  await pollAt('2025-03-10T16:00:00Z');
  expect(story.log.filter(({ msg }) => String(msg).includes('another time zone'))).toHaveLength(1);
});

test('the token is written nowhere, whatever Home Assistant says', async () => {
  const { story, ha, start, until } = await openStatisticsStory();
  const token = CANARY.opaqueToken;
  ha.switches.token = token;
  ha.switches.version = `2026.10-${token}`;
  ha.switches.instead.set('get_config', (socket, id) => {
    const error = { code: token, message: `${token} ${CANARY.name}` };
    socket.send(JSON.stringify({ id, type: 'result', success: false, error }));
  });
  ha.switches.instead.set('recorder/info', (socket) => socket.close(1011, token));
  ha.switches.instead.set('recorder/statistics_during_period', (socket, id) => {
    const result = { [token]: CANARY.address };
    socket.send(JSON.stringify({ id, type: 'result', success: true, result }));
  });
  await start({ home_assistant: { url: ha.url, token } });
  await story.pass(10 * 60_000, 30_000);
  const told = story.logged('statistics could not be written');
  expect(told.map(({ code }) => code)).toEqual([
    'home_assistant_refused',
    'home_assistant_cut',
    'home_assistant_strange',
  ]);
  await until('ok');
});

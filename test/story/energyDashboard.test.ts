// heat2mqtt energy-dashboard beside a daemon: what is shown, added and taken out again, and what keeps it from that.
import { expect, test } from 'vitest';
import { home, METER, person } from '../support/homes.ts';
import { COST, ENERGY, HISTORY, openStatisticsStory } from '../support/statisticsStory.ts';
import type { Story } from '../support/story.ts';

const SOLAR = {
  type: 'solar',
  stat_energy_from: 'sensor.roof',
  config_entry_solar_forecast: null,
  of_later: [1],
};
const BOILER = { type: 'gas', stat_energy_from: 'sensor.boiler', number_energy_price: 0.1 };
const OTHERS = {
  energy_sources: [SOLAR, BOILER, { type: 'water', stat_energy_from: 'sensor.tap', name: 'Tap' }],
  device_consumption: [{ stat_consumption: 'sensor.oven' }],
  device_consumption_water: [],
  of_later: { kept: true },
};
const HEAT = {
  type: 'gas',
  stat_energy_from: ENERGY,
  stat_cost: COST,
  entity_energy_price: null,
  number_energy_price: null,
  name: 'Heat',
};
const ENTITY = 'sensor.renamed_total';
const entity = (key: string, entity_id: string, more = {}) => ({
  entity_id,
  unique_id: `heat2mqtt_meter_${METER}_${key}`,
  platform: 'mqtt',
  disabled_by: null,
  ...more,
});

/** A daemon that has read its history, with the command and its page. `written`: the statistics as well. */
async function beside({ written = true }: { written?: boolean } = {}) {
  const me = person('me', [home(METER, { events: [...HISTORY] })]);
  const { story, ha, probe, settled, start } = await openStatisticsStory(HISTORY, [me]);
  const daemon = written ? await settled() : await start({ home_assistant: false });
  if (!written) {
    await story.passing(probe.until(`heat2mqtt/meter/${METER}/state`, () => true));
  }
  const section = { home_assistant: { url: ha.url, token: ha.switches.token } };
  const energy = (words = '', given: Parameters<Story['type']>[2] = {}, over = {}) =>
    story.type(`energy-dashboard ${words}`.trim(), { ...section, ...over }, given);
  /** As the page asks. */
  async function ask(method: 'GET' | 'POST', body?: object) {
    const address = `http://127.0.0.1:${daemon.httpPort}/energy-dashboard`;
    const headers = { 'content-type': 'application/json' };
    const response = await story.passing(
      fetch(address, { method, ...(body ? { headers, body: JSON.stringify(body) } : {}) }),
    );
    return { status: response.status, ...Object(await response.json()) };
  }
  return { ha, kept: ha.energy.kept, energy, ask };
}

test('it is shown, added once after asking, and taken out again; all else stays as it is', async () => {
  const { kept, energy } = await beside();
  kept.preferences = OTHERS;
  const shown = await energy();
  expect(shown.out).toMatch(/^– +sensor\.boiler +– +– +–$/m);
  expect(shown.out).toContain(`${METER} is not there: --add adds it.`);

  const { out, exitCode } = await energy('--add', { ask: async () => 'n' });
  expect(out).toMatch(new RegExp(`^Heat +${ENERGY} +${COST} +${METER} +statistics$`, 'm'));
  expect([out.split('\n').at(-2), exitCode]).toEqual(['Nothing was changed.', 0]);
  expect(kept.preferences).toBe(OTHERS);
  expect((await energy('--add', { ask: async () => 'y' })).out).toContain(
    'Everything else there is as it was.',
  );
  expect(kept.preferences).toEqual({ ...OTHERS, energy_sources: [...OTHERS.energy_sources, HEAT] });

  expect(await energy('--add --yes')).toMatchObject({ out: 'Nothing to add.\n', exitCode: 0 });
  expect((await energy()).out).toMatch(new RegExp(`^Heat +.* +${METER} +statistics$`, 'm'));
  expect((await energy('--remove --yes')).exitCode).toBe(0);
  expect(kept.preferences).toEqual(OTHERS);
  expect((await energy('--remove --yes')).out).toBe('Nothing to remove.\n');
});

test('without statistics the entities are added, whatever they are called, and taken out again', async () => {
  const { ha, kept, energy, ask } = await beside({ written: false });
  expect(await energy('--add --yes')).toMatchObject({
    err: `Home Assistant does not know ${METER} yet: neither statistics nor entities.\n`,
    exitCode: 2,
  });
  ha.switches.version = '2026.5.3';
  kept.registry = [
    entity('energy_total', 'sensor.of_somebody_else', { platform: 'demo' }),
    entity('energy_total', ENTITY),
    entity('cost_total', 'sensor.disabled', { disabled_by: 'user' }),
  ];
  expect((await energy('--add --yes')).out).toMatch(new RegExp(`^– +${ENTITY} +– +${METER} +entity$`, 'm'));
  const { name: _, ...withoutName } = HEAT;
  expect(kept.preferences).toEqual({
    energy_sources: [{ ...withoutName, stat_energy_from: ENTITY, stat_cost: null }],
    device_consumption: [],
    device_consumption_water: [],
  });

  await energy('--remove --yes');
  expect(kept.preferences).toMatchObject({ energy_sources: [] });
  // Without home_assistant the page has no way to it.
  expect(await ask('GET')).toMatchObject({ status: 404 });
});

test('the page shows the change, and makes it only as it was shown; what keeps the command from its work is told with its exit code', async () => {
  const { ha, kept, energy, ask } = await beside();
  const { added, digest, ...rest } = await ask('GET');
  expect(added).toEqual([{ name: 'Heat', energy: ENERGY, cost: COST, meter: METER, way: 'statistics' }]);
  expect(rest).toEqual({ status: 200, refusals: [], cautions: [] });
  kept.preferences = OTHERS;
  expect(await ask('POST', { digest })).toMatchObject({
    status: 422,
    error: { code: 'home_assistant_energy_changed' },
  });
  expect(await ask('POST', {})).toMatchObject({ status: 400 });
  expect(kept.preferences).toBe(OTHERS);
  ha.metadata.set('sensor.boiler', { statistic_id: 'sensor.boiler', unit_class: 'volume' });
  const again = await ask('GET');
  expect(again.cautions).toEqual([expect.stringContaining('sensor.boiler is a volume of gas')]);
  expect(await ask('POST', { digest: again.digest })).toEqual({ status: 200, state: 'done' });
  expect(kept.preferences).toEqual({ ...OTHERS, energy_sources: [...OTHERS.energy_sources, HEAT] });
  expect((await ask('GET')).added).toEqual([]);

  kept.preferences = null;
  await expect(energy('--add')).rejects.toMatchObject({ exitCode: 2 });
  await expect(energy('--add --remove --yes')).rejects.toMatchObject({ exitCode: 2 });
  await expect(energy('', {}, { home_assistant: false })).rejects.toMatchObject({ exitCode: 3 });
  expect(await energy('--add --yes', {}, { state_dir: '/nonexistent/state' })).toMatchObject({
    exitCode: 2,
    err: expect.stringMatching(/^No meter/),
  });
  ha.switches.isAdmin = false;
  await expect(energy('--add --yes')).rejects.toMatchObject({
    code: 'home_assistant_not_admin',
    exitCode: 7,
  });
  ha.switches.isAdmin = true;
  kept.isLoaded = false;
  await expect(energy()).rejects.toMatchObject({ code: 'home_assistant_no_energy', exitCode: 7 });
  kept.isLoaded = true;
  kept.preferences = { energy_sources: 'many' };
  await expect(energy('--add --yes')).rejects.toMatchObject({ code: 'home_assistant_strange', exitCode: 7 });
  kept.preferences = null;
  ha.switches.instead.set('energy/save_prefs', (socket, id) =>
    socket.send(JSON.stringify({ id, type: 'result', success: false, error: { code: 'invalid_format' } })),
  );
  await expect(energy('--add --yes')).rejects.toMatchObject({
    code: 'home_assistant_energy_refused',
    exitCode: 7,
  });
});

// Home Assistant's Energy dashboard: what it has of this installation's meters, and the one change that a person has agreed to.
import { createHash } from 'node:crypto';
import type { HomeAssistant as Section } from '../../config/schema.ts';
import type { Clock } from '../../foundation/clock.ts';
import {
  mqttEntities,
  readPreferences,
  saveSources,
  statisticsMetadata,
  visitHomeAssistant,
} from '../../homeassistant/commands.ts';
import { type HomeAssistant, isSince } from '../../homeassistant/connection.ts';
import {
  type Change,
  type GasSource,
  gasSourcesOf,
  type HeatMeter,
  type Plan,
  plan,
} from '../../homeassistant/energySources.ts';
import { seriesOf } from '../../homeassistant/recorder.ts';
import { HomeAssistantTrouble } from '../../homeassistant/trouble.ts';
import { meterUniqueIds } from '../../publication/discovery.ts';

/** `name`: of its series. */
interface NamedMeter {
  readonly name: string;
  readonly friendlyName: string | null;
}

interface Dashboard extends Plan {
  readonly gas: readonly GasSource[];
  /** A caveat for the person before the change. */
  readonly cautions: readonly string[];
  /** A digest of everything that this was worked out from. */
  readonly digest: string;
}

interface DashboardDeps {
  readonly section: Section;
  readonly baseTopic: string;
  readonly clock: Clock;
}

/**
 * The change as it would be. `agreed`: the digest of what was shown to a person, who wants it done. Rejects with HomeAssistantTrouble,
 * and changes nothing, when it is no longer so.
 */
export async function energyDashboard(
  { section, baseTopic, clock }: DashboardDeps,
  change: Change,
  meters: readonly NamedMeter[],
  agreed: string | null = null,
): Promise<Dashboard> {
  const { url, token } = section;
  return visitHomeAssistant({ url, token: await token.read() }, clock, async (home) => {
    const now = await look(home, baseTopic, change, meters);
    if (agreed === null) return now;
    if (now.digest !== agreed) throw new HomeAssistantTrouble('energy_changed');
    if (now.changed.length > 0) await saveSources(home, now.after);
    return now;
  });
}

async function look(
  home: HomeAssistant,
  baseTopic: string,
  change: Change,
  named: readonly NamedMeter[],
): Promise<Dashboard> {
  const entities = await mqttEntities(home);
  const before = await readPreferences(home);
  const names = named.map(({ name }) => name);
  const series = named.map(({ name: meter, friendlyName }) => {
    const [energy, cost] = seriesOf(baseTopic, { meter, friendlyName, currency: '' }, names);
    return { meter, friendlyName, energy: energy.id, cost: cost.id };
  });
  const gasIds = gasSourcesOf(before.energy_sources, []).flatMap(({ energy }) => energy ?? []);
  const seriesIds = series.flatMap(({ energy, cost }) => [energy, cost]);
  const metadata = await statisticsMetadata(home, [...seriesIds, ...gasIds]);
  const meters = series.map(({ meter, friendlyName, energy, cost }): HeatMeter => {
    const uniqueIds = meterUniqueIds(baseTopic, meter);
    const entityOf = (key: string) => entities.get(uniqueIds.get(key) ?? '') ?? null;
    const total = entityOf('energy_total');
    const entityIds = [...uniqueIds.values()].flatMap((id) => entities.get(id) ?? []);
    const pairOfEntities = total === null ? null : { energy: total, cost: entityOf('cost_total') };
    const pairOfSeries = { energy, cost: metadata.has(cost) ? cost : null };
    return {
      meter,
      friendlyName,
      ids: new Map([
        ...entityIds.map((id) => [id, id === total ? 'entity' : null] as const),
        [energy, 'statistics'],
      ]),
      pair: metadata.has(energy) ? pairOfSeries : pairOfEntities,
    };
  });
  const planned = plan(change, before, meters, isSince(2026, 6, home.version));
  const inVolume = gasIds.filter((id) => metadata.get(id)?.unit_class === 'volume');
  return {
    ...planned,
    gas: gasSourcesOf(before.energy_sources, meters),
    cautions: inVolume.map(
      (id) => `${id} is a volume of gas: Home Assistant shows all gas sources in one unit, and adds them up.`,
    ),
    digest: createHash('sha256')
      .update(JSON.stringify([before, planned.after]))
      .digest('base64url'),
  };
}

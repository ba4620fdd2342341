// Home Assistant's Energy dashboard: what it has of this installation's meters, and the one change that a person has agreed to.
import { createHash } from 'node:crypto';
import type { HomeAssistant as Section } from '../../config/schema.ts';
import type { Clock } from '../../foundation/clock.ts';
import type { HomeAssistant } from '../../homeassistant/connection.ts';
import {
  type Change,
  type GasSource,
  gasSourcesOf,
  type HeatMeter,
  mqttEntities,
  type Plan,
  plan,
  readPreferences,
  saveSources,
  takesNames,
} from '../../homeassistant/energySources.ts';
import { seriesOf, unitClasses, visitHomeAssistant } from '../../homeassistant/recorder.ts';
import { HomeAssistantTrouble } from '../../homeassistant/trouble.ts';
import { meterUniqueIds } from '../../publication/discovery.ts';

/** `name`: of its series. */
interface NamedMeter {
  readonly name: string;
  readonly friendlyName: string | null;
}

export interface Dashboard extends Plan {
  readonly gas: readonly GasSource[];
  /** What a person should know before the change. */
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
 * What the change would be. `agreed`: the digest of what was shown to a person, who wants it done. Rejects with HomeAssistantTrouble,
 * and changes nothing, when it is no longer so.
 */
export async function energyDashboard(
  deps: DashboardDeps,
  change: Change,
  meters: readonly NamedMeter[],
  agreed: string | null = null,
): Promise<Dashboard> {
  const { url, token } = deps.section;
  return visitHomeAssistant({ url, token: await token.read() }, deps.clock, async (home) => {
    const now = await look(home, deps, change, meters);
    if (agreed === null) return now;
    if (now.digest !== agreed) throw new HomeAssistantTrouble('energy_changed');
    if (now.changed.length > 0) await saveSources(home, now.after);
    return now;
  });
}

async function look(
  home: HomeAssistant,
  { baseTopic }: DashboardDeps,
  change: Change,
  named: readonly NamedMeter[],
): Promise<Dashboard> {
  const names = named.map(({ name }) => name);
  const entities = await mqttEntities(home);
  const before = await readPreferences(home);
  const ours = named.map((one) => ({
    ...one,
    series: seriesOf(baseTopic, { meter: one.name, friendlyName: one.friendlyName, currency: '' }, names),
  }));
  const others = gasSourcesOf(before.energy_sources, []).flatMap(({ energy }) => energy ?? []);
  const ids = ours.flatMap(({ series }) => series.map(({ id }) => id));
  const classes = await unitClasses(home, [...ids, ...others]);
  const meters = ours.map(({ name, friendlyName, series: [energy, cost] }): HeatMeter => {
    const uniqueIds = meterUniqueIds(baseTopic, name);
    const entityOf = (key: string) => entities.get(uniqueIds.get(key) ?? '') ?? null;
    const total = entityOf('energy_total');
    const statistics = energy?.id ?? '';
    const isStored = classes.has(statistics);
    const byStatistics = { energy: statistics, cost: cost && classes.has(cost.id) ? cost.id : null };
    const byEntity = total === null ? null : { energy: total, cost: entityOf('cost_total') };
    return {
      meter: name,
      friendlyName,
      totals: { statistics, entity: total },
      ids: [statistics, ...[...uniqueIds.values()].flatMap((id) => entities.get(id) ?? [])],
      pair: isStored ? byStatistics : byEntity,
    };
  });
  const planned = plan(change, before, meters, takesNames(home));
  const inVolume = others.filter((id) => classes.get(id) === 'volume');
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

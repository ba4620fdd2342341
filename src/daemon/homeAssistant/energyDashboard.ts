// Home Assistant's Energy dashboard: what it has of this installation's meters, and the one change that a person has agreed to.
import { createHash } from 'node:crypto';
import type { HomeAssistant as Section } from '../../config/schema.ts';
import type { Clock } from '../../foundation/clock.ts';
import type { HomeAssistant } from '../../homeassistant/connection.ts';
import {
  mqttEntities,
  readPreferences,
  saveSources,
  takesNames,
} from '../../homeassistant/energyPreferences.ts';
import {
  type Change,
  type GasSource,
  gasSourcesOf,
  type HeatMeter,
  type Plan,
  plan,
} from '../../homeassistant/energySources.ts';
import { unitClasses, visitHomeAssistant } from '../../homeassistant/recorder.ts';
import { seriesOf } from '../../homeassistant/series.ts';
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

export class EnergyDashboard {
  readonly #section: Section;
  readonly #baseTopic: string;
  readonly #clock: Clock;

  constructor(section: Section, baseTopic: string, clock: Clock) {
    this.#section = section;
    this.#baseTopic = baseTopic;
    this.#clock = clock;
  }

  /** What the change would be. Rejects with HomeAssistantTrouble. */
  look(change: Change, meters: readonly NamedMeter[]): Promise<Dashboard> {
    return this.#visit((home) => this.#look(home, change, meters));
  }

  /** `digest`: of what was shown. Rejects with HomeAssistantTrouble, and changes nothing, when it is no longer so. */
  apply(change: Change, meters: readonly NamedMeter[], digest: string): Promise<Dashboard> {
    return this.#visit(async (home) => {
      const now = await this.#look(home, change, meters);
      if (now.digest !== digest) throw new HomeAssistantTrouble('energy_changed');
      if (now.changed.length > 0) await saveSources(home, now.after);
      return now;
    });
  }

  async #visit<T>(work: (home: HomeAssistant) => Promise<T>): Promise<T> {
    const address = { url: this.#section.url, token: await this.#section.token.read() };
    return visitHomeAssistant(address, this.#clock, work);
  }

  async #look(home: HomeAssistant, change: Change, named: readonly NamedMeter[]): Promise<Dashboard> {
    const names = named.map(({ name }) => name);
    const entities = await mqttEntities(home);
    const before = await readPreferences(home);
    const series = named.map(({ name, friendlyName }) =>
      seriesOf(this.#baseTopic, { meter: name, friendlyName, currency: '' }, names).map(({ id }) => id),
    );
    const others = gasSourcesOf(before.energy_sources, []).flatMap(({ energy }) => energy ?? []);
    const classes = await unitClasses(home, [...series.flat(), ...others]);
    const isStored = (id: string) => classes.has(id);
    const meters = named.map((one, at) => this.#meter(one, series[at] ?? [], isStored, entities));
    const planned = plan(change, before, meters, takesNames(home));
    const inVolume = others.filter((id) => classes.get(id) === 'volume');
    return {
      ...planned,
      gas: gasSourcesOf(before.energy_sources, meters),
      cautions: inVolume.map(
        (id) =>
          `${id} is a volume of gas: Home Assistant shows all gas sources in one unit, and adds them up.`,
      ),
      digest: createHash('sha256')
        .update(JSON.stringify([before, planned.after]))
        .digest('base64url'),
    };
  }

  #meter(
    { name, friendlyName }: NamedMeter,
    [energyId = '', costId = '']: readonly string[],
    isStored: (id: string) => boolean,
    entities: ReadonlyMap<string, string>,
  ): HeatMeter {
    const uniqueIds = meterUniqueIds(this.#baseTopic, name);
    const entityOf = (key: string) => entities.get(uniqueIds.get(key) ?? '') ?? null;
    const entity = entityOf('energy_total');
    const byEntity = entity === null ? null : { energy: entity, cost: entityOf('cost_total') };
    const byStatistics = { energy: energyId, cost: isStored(costId) ? costId : null };
    return {
      meter: name,
      friendlyName,
      totals: { statistics: energyId, entity },
      ids: [energyId, ...[...uniqueIds.values()].flatMap((id) => entities.get(id) ?? [])],
      pair: isStored(energyId) ? byStatistics : byEntity,
    };
  }
}

// The surroundings of an account, in a household as in a fleet, and the events of its polls.
import type { Config } from '../config/schema.ts';
import type { Weather } from '../domain/insight/weather.ts';
import type { Change, Ledger } from '../domain/ledger.ts';
import type { Zone } from '../domain/period.ts';
import type { TariffChange } from '../domain/tariff/tariff.ts';
import type { Clock } from '../foundation/clock.ts';
import type { ConcurrencyLimit } from '../foundation/limits.ts';
import type { Log, Scrubber } from '../foundation/log.ts';
import type { OpenProvider } from '../provider/provider.ts';
import type { Topics } from '../publication/topics.ts';
import type { WitnessView } from '../publication/views.ts';
import type { StateStore } from '../store/stateStore.ts';
import type { Counters } from './metrics.ts';

export interface AccountContext {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly scrubber: Scrubber;
  /** Draws from [0, 1). */
  readonly random: () => number;
  readonly state: StateStore;
  readonly zone: Zone;
  readonly topics: Topics;
  readonly counters: Counters;
  /** The session, the meters or the extras of an account may have changed. */
  readonly changed: (account: string) => void;
  /** Outdoor temperatures, from wherever they come: the same object until something else is known. `null`: not configured, or unknown. */
  readonly outdoor: { readonly weather: Weather | null };
  /** A meter's own register, by its key in the configuration. Missing in a fleet. */
  readonly witnessOf?: (meter: string | undefined, ledger: Ledger) => WitnessView | undefined;
  /** Default: that of provider/monetization. */
  readonly openProvider?: OpenProvider;
  /** Default: that of auth/loginBudget.ts. Only tests have a reason to lower it. */
  readonly scryptCost?: number | undefined;
  /** `usage.concurrency`: how many requests to issuer and provider may be under way, of all accounts. */
  readonly limit: ConcurrencyLimit;
}

/** A change that is worth an event. */
export type MeterChange = Change | TariffChange;

export interface MeterEvent {
  readonly meter: string;
  readonly change: MeterChange;
}

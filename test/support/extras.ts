// What stories of the extras have in common: which there are, how often each was asked for, and how to spoil them.
import type { Fault } from '../../src/simulator/faults.ts';
import { STATE } from './homes.ts';
import { type House, type HouseOptions, openHouse } from './house.ts';

export const ACCOUNT = 'heat2mqtt/account/home/state';
export const INVOICES = 'heat2mqtt/account/home/invoices';
export const EXTRAS = ['usage-events', 'open-bill-due', 'credit-balances', 'invoices', 'site'] as const;
type Name = (typeof EXTRAS)[number];

/** How often; the pages of one list count as one. */
export const asked = ({ simulator }: House, name: Name): number =>
  simulator.requests.filter(({ path, query }) => path.endsWith(`/${name}`) && (query.page ?? '1') === '1')
    .length;

export const spoil = ({ simulator }: House, name: Name, fault: Fault) =>
  simulator.switches.fault('/api/v1/', fault, { when: ({ path }) => path.endsWith(`/${name}`) });

export const warnings = ({ log }: House): unknown[] =>
  log.filter(({ msg }) => msg === 'not given by the provider: left out for a week').map(({ extra }) => extra);

/** A house whose first poll is over, and all that comes after it. */
export async function firstPoll({
  config = {},
  prepare = () => {},
  ...options
}: HouseOptions & {
  readonly config?: Readonly<Record<string, unknown>>;
  readonly prepare?: (house: House) => void;
} = {}) {
  const house = await openHouse(options);
  prepare(house);
  const probe = await house.listen();
  const daemon = await house.start(config);
  await house.polled(1);
  await probe.until(STATE, () => true);
  return { house, probe, daemon };
}

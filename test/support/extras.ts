// What stories of the extras have in common: which there are, how often each was asked for, and how to spoil them.
import type { Fault } from '../../src/simulator/switches.ts';
import type { Story } from './story.ts';

export const ACCOUNT = 'heat2mqtt/account/home/state';
export const INVOICES = 'heat2mqtt/account/home/invoices';
export const EXTRAS = ['usage-events', 'open-bill-due', 'credit-balances', 'invoices', 'site'] as const;
/** Asked for where there are no invoices. */
const BILLS = 'bills';
type Name = (typeof EXTRAS)[number] | typeof BILLS;

/** How often; the pages of one list count as one. */
export const asked = ({ simulator }: Story, name: Name): number =>
  simulator.requests.filter(({ path, query }) => path.endsWith(`/${name}`) && (query.page ?? '1') === '1')
    .length;

/** They are answered so: all of them, or those that `isOne` picks by their place in `EXTRAS`, the old bills with the last. */
export const spoil = (
  { simulator }: Story,
  fault: Fault,
  isOne: (nth: number) => boolean = () => true,
): ReturnType<Story['simulator']['switches']['fault']> =>
  simulator.switches.fault('/api/v1/', fault, {
    when: ({ path }) => {
      const nth = [...EXTRAS, BILLS].findIndex((name) => path.endsWith(`/${name}`));
      return nth >= 0 && isOne(nth);
    },
  });

export const warnings = ({ log }: Story): unknown[] =>
  log
    .filter(({ msg }) => msg === 'not given by the provider: not asked for a week')
    .map(({ extra }) => extra);

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

/** They are answered so, and the old bills with them. */
export const spoil = (
  { simulator }: Story,
  fault: Fault,
): ReturnType<Story['simulator']['switches']['fault']> =>
  simulator.switches.fault('/api/v1/', fault, {
    when: ({ path }) => [...EXTRAS, BILLS].some((name) => path.endsWith(`/${name}`)),
  });

export const warnings = ({ log }: Story): unknown[] =>
  log
    .filter(({ msg }) => msg === 'not given by the provider: not asked for a week')
    .map(({ extra }) => extra);

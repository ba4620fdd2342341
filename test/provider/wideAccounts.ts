// Customers of the simulated provider with all that its discovery has to sort out.
import { type AccountOptions, demoAccounts, type GroupOptions } from '../../src/simulator/accounts.ts';

/** Two payment groups, three properties (one without any service), a group of another type, and a neighbour. */
export function wideAccounts(seed = 1): AccountOptions[] {
  const groups: GroupOptions[] = [
    ...(demoAccounts(seed)[0]?.groups ?? []),
    { type: 'hierarchy', properties: [{ services: [{ identifier: '70499999' }] }] },
    {
      type: 'payment',
      properties: [{ services: [{ identifier: '70418301', meter: { seed: seed + 2 } }] }, { services: [] }],
    },
  ];
  const next = [{ properties: [{ services: [{ identifier: '70555001', meter: { seed: seed + 3 } }] }] }];
  return [
    { username: 'me@example.org', password: 'demo', groups },
    { username: 'neighbour@example.org', password: 'demo-too', groups: next },
  ];
}

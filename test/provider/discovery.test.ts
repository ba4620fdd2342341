// From the customer code to every heat meter: several groups, properties and services, and none at all.
import { describe, expect, test } from 'vitest';
import { discover } from '../../src/provider/monetization/discovery.ts';
import { type Exchange, UnexpectedReply } from '../../src/provider/request.ts';
import type { GroupOptions } from '../../src/simulator/accounts.ts';
import { refusalOf } from '../auth/account.ts';
import { FAULTS } from '../support/faults.ts';
import { logLines } from '../support/logLines.ts';
import { openProvider, type Provider } from './home.ts';
import { wideAccounts } from './wideAccounts.ts';

const find = ({ ask, customerCode }: Pick<Provider, 'ask' | 'customerCode'>) =>
  discover(ask, { customerCode, siteCodes: ['/harbour-yard'] }, logLines().log);
const living = (groups: readonly GroupOptions[]) =>
  openProvider({ accounts: [{ username: 'me@example.org', password: 'p', customerId: 77, groups }] });
const heat = (identifier: string | null) => ({ identifier, serviceType: 'HEAT_METER_READ_SERVICE' });
const water = { identifier: 'W-1', serviceType: 'WATER_METER_READ_SERVICE' };
const properties = '/api/v1/customers';

test('the wide household: every payment group, every property with a heat meter, nothing of the neighbour’s', async () => {
  const provider = await openProvider({ accounts: wideAccounts() });
  const before = provider.simulator.requests.length;
  const context = await find(provider);
  const mine = provider.simulator.properties('me@example.org').filter((one) => one.groupType === 'payment');
  const heated = mine.filter(({ identifiers }) => identifiers.length > 0);
  expect(mine.length).toBe(3);
  expect(context.properties.map((one) => one.propertyCustomerId)).toEqual(heated.map(({ id }) => String(id)));
  expect(context.properties.map((one) => one.meterIdentifiers)).toEqual([['70418235'], ['70418301']]);
  expect(context.siteCodes).toEqual(['/harbour-yard']);
  expect(context.personCustomerId).toMatch(/^\d+$/);
  expect(context.billingProfileIds).toHaveLength(1);
  // The subscription that carries the heat meter; the simulator's other one has an id 50,000 above.
  const [first] = context.properties;
  expect(Number(first?.subscriptionId)).toBeLessThan(450_000);
  expect(Number(first?.balanceGroupId)).toBe(Number(first?.subscriptionId) + 1);
  // One question for the customer, one for the groups, one for each group.
  const asked = provider.simulator.requests.slice(before).map(({ path, query }) => [path, query.type]);
  expect(asked).toEqual([
    [`/api/v1/customers/${provider.customerCode}`, undefined],
    [`/api/v1/customers/${context.personCustomerId}/groups`, 'payment'],
    ['/api/v1/customers', undefined],
    ['/api/v1/customers', undefined],
  ]);
});

describe('other households', () => {
  test.each<[string, object[], string[]]>([
    [
      'one without a name, others between',
      [heat('B-2'), water, heat(null), heat('A-10'), heat('B-2')],
      ['A-10', 'B-2'],
    ],
    ['not one with a name', [heat(null)], []],
  ])('several heat meters in one property, %s', async (_, services, meterIdentifiers) => {
    const { properties } = await find(await living([{ properties: [{ id: 12, services }] }]));
    expect(properties).toMatchObject([{ propertyCustomerId: '12', meterIdentifiers }]);
  });

  test('more groups and properties than fit on a page, one of them in two groups', async () => {
    const groups = Array.from({ length: 12 }, (_, group) => ({
      properties: Array.from({ length: 12 }, (_one, index) => ({
        id: 1_000 + group * 12 + index,
        services: [heat(`M-${String(group * 12 + index).padStart(3, '0')}`)],
      })),
    }));
    const { properties } = await find(await living([...groups, ...groups.slice(0, 1)]));
    const names = properties.flatMap(({ meterIdentifiers }) => meterIdentifiers);
    expect(names).toEqual(Array.from({ length: 144 }, (_, index) => `M-${String(index).padStart(3, '0')}`));
  });

  const hierarchy = { type: 'hierarchy', properties: [{ services: [heat('A')] }] } as const;
  test.each<[string, readonly GroupOptions[], string]>([
    ['a group of another type only', [hierarchy], '0 payment group(s)'],
    ['no property', [{}, {}], '2 payment group(s)'],
    ['other services only', [{ properties: [{ services: [water] }] }], '1 payment group(s)'],
  ])('%s: says what was looked for, and where', async (_, groups, words) => {
    const err = await refusalOf(find(await living(groups)));
    expect(err).toHaveProperty('hint', expect.stringContaining('another account'));
    expect(String(err)).toMatch(/a property with a service of type HEAT_METER_READ_SERVICE/);
    expect(String(err)).toContain(words);
  });
});

describe('other shapes of the same', () => {
  const withProperty = (over: Record<string, unknown>) => ({
    customerCode: 'code',
    ask: async ({ path }: Exchange) => {
      if (path.endsWith('/groups')) return [{ id: 901, type: 'PAYMENT' }];
      return path === '/customers' ? [{ id: 12, status: 'active', ...over }] : { id: 77 };
    },
  });
  const service_type = { code: 'HEAT_METER_READ_SERVICE' };
  const subscription = (id: number, over = {}) => ({
    id,
    status: 'active',
    balance_group: { id: id + 1 },
    ...over,
  });
  const services = [{ service_type }];
  const named = [{ service_type, identifier: 'A' }];
  const carrying = subscription(3, { services: named });
  const closed = subscription(1, { status: 'CLOSED' });
  const THIRD = { subscriptionId: '3', balanceGroupId: '4' };
  const NONE = { subscriptionId: null, balanceGroupId: null };

  test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ['ids as text', { id: 'p-12', services }, { propertyCustomerId: 'p-12' }],
    [
      'a plain type',
      { services: [{ service_type: service_type.code, identifier: 7 }] },
      { meterIdentifiers: ['7'] },
    ],
    ['a serial number', { services: [{ service_type, serial_number: 'S1' }] }, { meterIdentifiers: ['S1'] }],
    [
      'a number that cannot be printed as it is',
      { services: [{ service_type, identifier: `70\u0000\u202e\n41${'8'.repeat(100_000)}` }] },
      { meterIdentifiers: [`70 41${'8'.repeat(57)}`] },
    ],
    [
      'within the subscriptions',
      { subscriptions: [subscription(1), carrying] },
      { ...THIRD, meterIdentifiers: ['A'] },
    ],
    ['no word on which: the active one', { services, subscriptions: [closed, subscription(3)] }, THIRD],
    ['no subscription', { services, subscriptions: null }, NONE],
    ['no type', { services: [{}, { service_type: null }, ...named] }, { meterIdentifiers: ['A'] }],
  ])('%s', async (_, over, expected) => {
    expect((await find(withProperty(over))).properties).toMatchObject([expected]);
  });

  test.each<[string, Record<string, unknown>, string]>([
    ['the type missing everywhere', { services: [{ identifier: 'A' }] }, 'HEAT_METER_READ_SERVICE'],
    ['services as text', { services: 'private' }, 'expected array at objects.0.services, found a string'],
    ['a type of 7', { services: [{ service_type: 7 }] }, 'objects.0.services.0.service_type, found a number'],
    ['an empty id', { id: '' }, 'objects.0.id'],
    ['an id of 65 characters', { id: '7'.repeat(65) }, 'objects.0.id'],
    ['an id that cannot be printed', { id: '512\u0000001' }, 'objects.0.id'],
  ])('%s is not understood, and told', async (_, over, words) => {
    const err = await refusalOf(find(withProperty(over)));
    expect(err).toBeInstanceOf(UnexpectedReply);
    expect(String(err)).toContain(words);
    expect(String(err)).not.toContain('private');
  });

  test('a customer without an id; one who is not found: the address is in doubt before the account is', async () => {
    const provider = await living([{}]);
    const strange = { kind: 'reply', status: 200, body: { code: 'x' } } as const;
    provider.simulator.switches.fault(properties, strange, { times: 1 });
    expect(String(await refusalOf(find(provider)))).toContain('reply to the customer was not understood');
    provider.simulator.switches.fault(properties, FAULTS.notFound);
    const err = await refusalOf(find(provider));
    expect(err).toMatchObject({ status: 404, hint: expect.stringContaining('the address is mistyped') });
    expect(String(err)).toContain('not found at provider.api_url');
    expect(String(err)).not.toContain('refused');
  });

  test('a code with strange letters stays one step of the path', async () => {
    const accounts = [{ username: 'me@example.org', password: 'p', customerCode: 'a/b?c d#ü', groups: [] }];
    const provider = await openProvider({ accounts });
    await refusalOf(find(provider));
    const customer = provider.simulator.requests.find(({ route }) => route.endsWith('/customers/:id'));
    expect(customer?.path).toBe(`${properties}/${encodeURIComponent('a/b?c d#ü')}`);
  });
});

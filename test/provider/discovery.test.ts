// From the customer code to every heat meter: several groups, properties and services, and none at all.
import { expect, test } from 'vitest';
import { discover } from '../../src/provider/monetization/discovery.ts';
import { type Ask, UnexpectedReply } from '../../src/provider/request.ts';
import { refusalOf } from '../auth/account.ts';
import { logLines } from '../support/logLines.ts';

const CODE = 'HEAT_METER_READ_SERVICE';
const service_type = { code: CODE };
const heat = (identifier: unknown) => ({ service_type, identifier });
const water = { service_type: { code: 'WATER_METER_READ_SERVICE' }, identifier: 'W-1' };
type Given = Readonly<Record<string, unknown>>;

/** `groups`: the properties of each, by its type and number. */
function openHousehold(groups: Readonly<Record<string, readonly Given[]>>, customer: Given = { id: 77 }) {
  const asked: string[] = [];
  const hints: string[] = [];
  const ask: Ask = async ({ path, query, notFound }) => {
    if (notFound) hints.push(notFound.hint);
    asked.push([path, query?.get('type') ?? query?.get('parent-group') ?? []].flat().join(' '));
    const listed = (objects: readonly Given[]) => ({ objects, total_num: objects.length });
    const names = Object.keys(groups).map((name) => name.split(' '));
    const owner_billing_profile = { id: 901 };
    if (path.endsWith('/groups'))
      return listed(names.map(([type, id]) => ({ id, type, owner_billing_profile })));
    const id = query?.get('parent-group');
    const [properties] = Object.entries(groups).flatMap(([name, rows]) =>
      name.endsWith(` ${id}`) ? [rows] : [],
    );
    return path === '/customers' ? listed(properties ?? []) : customer;
  };
  const identity = { customerCode: 'a/b?c d#ü', siteCodes: ['/harbour-yard'] };
  return { asked, hints, find: () => discover(ask, identity, logLines().log) };
}

test('finds every property with a heat meter once when they are in several payment groups', async () => {
  const first = { id: 12, services: [heat('B-2'), water, heat(null), heat('A-10'), heat('B-2')] };
  const { asked, find } = openHousehold({
    'payment 1': [first, { id: 13, services: [water] }],
    'hierarchy 2': [{ id: 14, services: [heat('C')] }],
    'PAYMENT 3': [first, { id: 15, services: [heat(null)] }],
  });
  const none = { subscriptionId: null, balanceGroupId: null };
  expect(await find()).toEqual({
    personCustomerId: '77',
    siteCodes: ['/harbour-yard'],
    billingProfileIds: ['901'],
    properties: [
      { ...none, propertyCustomerId: '12', meterIdentifiers: ['A-10', 'B-2'] },
      { ...none, propertyCustomerId: '15', meterIdentifiers: [] },
    ],
  });
  const path = `/customers/${encodeURIComponent('a/b?c d#ü')}`;
  expect(asked).toEqual([path, '/customers/77/groups payment', '/customers 1', '/customers 3']);
});

test.each<[string, Parameters<typeof openHousehold>[0], string]>([
  ['a group of another type only', { 'hierarchy 1': [{ services: [heat('A')] }] }, '0 payment group(s)'],
  ['no property', { 'payment 1': [], 'payment 2': [] }, '2 payment group(s)'],
  ['other services only', { 'payment 1': [{ id: 1, services: [water] }] }, '1 payment group(s)'],
  ['no type', { 'payment 1': [{ id: 1, services: [{ identifier: 'A' }] }] }, `a service of type ${CODE}`],
])('says what was looked for, and where, when there is %s', async (_, groups, words) => {
  const err = await refusalOf(openHousehold(groups).find());
  expect(err).toHaveProperty('hint', expect.stringContaining('another account'));
  expect(String(err)).toContain(words);
});

test('refuses the answer when it has more properties than any account has', async () => {
  const properties = (count: number) =>
    Array.from({ length: count }, (_, id) => ({ id: id + 1, services: [heat(`A-${id}`)] }));
  expect((await openHousehold({ 'payment 1': properties(500) }).find()).properties).toHaveLength(500);
  const err = await refusalOf(openHousehold({ 'payment 1': properties(501) }).find());
  expect(err).toBeInstanceOf(UnexpectedReply);
  expect(String(err)).toContain('expected at most 500 properties of one account, found 501');
});

const subscription = (id: number, over = {}) => ({
  id,
  status: 'active',
  balance_group: { id: id + 1 },
  ...over,
});
const services = [heat('A')];
/** A service of another product has fields of its own. */
const strange = (type: unknown) => ({
  service_type: type,
  identifier: { register: 1 },
  serial: '',
  subscription: { id: null },
});
const others = [strange(water.service_type), strange('WATER'), strange(null)];
const closed = subscription(1, { status: 'CLOSED' });
const THIRD = { subscriptionId: '3', balanceGroupId: '4', meterIdentifiers: ['A'] };
const property = (over: Given) => openHousehold({ 'payment 1': [{ id: 12, status: 'active', ...over }] });

test.each<[string, Given, Given]>([
  ['ids as text', { id: 'p-12', services }, { propertyCustomerId: 'p-12' }],
  ['a plain type', { services: [{ service_type: CODE, identifier: 7 }] }, { meterIdentifiers: ['7'] }],
  ['a serial number', { services: [{ service_type, serial_number: 'S1' }] }, { meterIdentifiers: ['S1'] }],
  [
    'a number that cannot be printed as it is',
    { services: [heat(`70\u0000\u202e\n41${'8'.repeat(100_000)}`)] },
    { meterIdentifiers: [`70 41${'8'.repeat(57)}`] },
  ],
  ['within the subscriptions', { subscriptions: [subscription(1), subscription(3, { services })] }, THIRD],
  [
    'which names its subscription',
    {
      services: [{ ...heat('A'), subscription: { id: 3 } }],
      subscriptions: [subscription(1), subscription(3)],
    },
    THIRD,
  ],
  ['no word on which: the active one', { services, subscriptions: [closed, subscription(3)] }, THIRD],
  ['strange services for something else', { services: [...others, heat('A')] }, { meterIdentifiers: ['A'] }],
  [
    'strange services for something else within the subscriptions',
    { subscriptions: [subscription(1, { services: others }), subscription(3, { services })] },
    THIRD,
  ],
  ['no type', { services: [{}, { service_type: null }, heat('A')] }, { meterIdentifiers: ['A'] }],
  [
    'a type without a code',
    { services: [strange({ code: null }), strange({ id: 7 }), heat('A')] },
    { meterIdentifiers: ['A'] },
  ],
])('understands a property when its shape is another: %s', async (_, over, expected) => {
  expect((await property(over).find()).properties).toMatchObject([expected]);
});

test.each<[string, Given, string]>([
  ['services as text', { services: 'private' }, 'expected array at objects.0.services, found a string'],
  ['a type of 7', { services: [{ service_type: 7 }] }, 'objects.0.services.0.service_type, found a number'],
  [
    'a strange service for heat',
    { services: [strange(CODE)] },
    'objects.0.services.0.identifier, found an object',
  ],
  ['an empty id', { id: '' }, 'objects.0.id'],
  ['an id of 65 characters', { id: '7'.repeat(65) }, 'objects.0.id'],
  ['an id that cannot be printed', { id: '512\u0000001' }, 'objects.0.id'],
])('names the place when a property has %s', async (_, over, words) => {
  const err = await refusalOf(property(over).find());
  expect(err).toBeInstanceOf(UnexpectedReply);
  expect(String(err)).toContain(words);
  expect(String(err)).not.toContain('private');
});

test('doubts the address before the account when there is no customer', async () => {
  const { hints, find } = openHousehold({}, { code: 'x' });
  expect(String(await refusalOf(find()))).toContain(
    'reply to the question for the customer was not understood',
  );
  expect(hints).toEqual([expect.stringContaining('the address is mistyped')]);
});

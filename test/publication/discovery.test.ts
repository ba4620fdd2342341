// Discovery for plain and odd base topics, and how components and devices go. What Home Assistant makes of it is in
// test/e2e-home-assistant.
import { expect, test } from 'vitest';
import { about } from '../../src/foundation/about.ts';
import {
  accountDocument,
  announce,
  bridgeDocument,
  meterDocument,
  platformsOf,
} from '../../src/publication/discovery.ts';
import { ACCOUNT, bodyOf, discoveryBelow, discoveryOf, EMPTY, FULL } from '../support/inventedHome.ts';

test.each([
  ['heat2mqtt', 'heat2mqtt'],
  ['heat/home', 'heat_home'],
  ['Wärme', 'W_rme'],
  ['热力', '_'],
])('reduces ids, and not topics, when the base topic is %s', (base, safe) => {
  const messages = discoveryOf(discoveryBelow(base));
  expect(messages.filter(({ retain, step }) => !retain || step)).toEqual([]);
  expect(messages.map(({ topic }) => topic)).toEqual(
    ['bridge', 'account_home', 'meter_70418235'].map((end) => `homeassistant/device/${safe}_${end}/config`),
  );
  const [bridge, account, meter] = messages.map(bodyOf);
  // Another installation at the same broker has another base topic.
  const name = base === 'heat2mqtt' ? 'heat2mqtt' : `heat2mqtt (${base})`;
  expect(bridge?.device).toMatchObject({ name, identifiers: [`${safe}_bridge`], model: 'Bridge' });
  expect(bridge?.device).not.toHaveProperty('via_device');
  for (const one of [account, meter]) expect(one?.device).toMatchObject({ via_device: `${safe}_bridge` });
  expect(meter).toMatchObject({
    device: { identifiers: [`${safe}_meter_70418235`] },
    state_topic: `${base}/meter/70418235/state`,
    availability_topic: `${base}/bridge/state`,
    qos: 1,
  });
  // Two bridges at one broker share no unique id.
  const bodies = [bridge, account, meter].flatMap((document) => Object.values(Object(document?.components)));
  const ids = bodies.map((body) => String(Object(body).unique_id));
  expect(ids.length).toBeGreaterThan(40);
  expect(ids.filter((id) => !id.startsWith(`${safe}_`))).toEqual([]);
  const entities = bodies.map((body) => String(Object(body).default_entity_id));
  expect(entities.filter((id) => !/^[a-z_]+\.[a-z0-9]+(_[a-z0-9]+)*$/.test(id))).toEqual([]);
});

test('leaves the serial number out when a meter has no identifiers', () => {
  const [bridge] = discoveryOf(discoveryBelow('heat2mqtt', 'ha/discovery'));
  expect(bridge?.topic).toBe('ha/discovery/device/heat2mqtt_bridge/config');
  const messages = discoveryOf(discoveryBelow('heat2mqtt'), { ...EMPTY, meter: '512001', identifiers: [] });
  expect(bodyOf(messages[2]).device).not.toHaveProperty('serial_number');
});

test('announces nothing about polls when there is no account, and lists when there are constituencies', () => {
  const keysWith = (more: object) =>
    Object.keys(
      bridgeDocument({ ...discoveryBelow('heat2mqtt'), constituencies: false, ...more }).components,
    );
  const polls = ['last_success_at', 'next_poll_at', 'poll_now'];
  expect(keysWith({})).toEqual(['health', ...polls.slice(0, 2), 'last_error', 'poll_now', 'event']);
  const own = ['constituencies', 'constituencies_fetched_at', 'refresh_constituencies'];
  expect(keysWith({ accounts: false, constituencies: true })).toEqual([
    ...['health', 'last_error', ...own, 'event'],
  ]);
});

test('has another stamp when anything that it is written from is another', () => {
  const options = discoveryBelow('heat2mqtt');
  const stamps = [
    meterDocument(options, FULL),
    meterDocument(options, { ...FULL, currency: 'GBP' }),
    meterDocument(options, { ...FULL, friendlyName: 'Flat 3' }),
    meterDocument(options, { ...FULL, register: null }),
    meterDocument({ ...options, language: 'de' }, FULL),
    meterDocument({ ...options, page: 'http://192.168.1.10:8099/' }, FULL),
  ].map(({ stamp }) => stamp);
  expect(new Set(stamps).size).toBe(stamps.length);
  expect(meterDocument(options, { ...FULL, updatedAt: 1 }).stamp).toBe(stamps[0]);
});

test('leads to the page when others can open it, else to the project', () => {
  const urls = (page: string | null) =>
    discoveryOf({ ...discoveryBelow('heat2mqtt'), page }).map(
      (message) => Object(bodyOf(message).device).configuration_url,
    );
  const page = 'http://192.168.1.10:8099/';
  expect(urls(page)).toEqual([page, page, page]);
  expect(urls(null)).toEqual([about.url, undefined, undefined]);
});

test('counts in the currency of account and meter when it is not EUR', () => {
  const unitsOf = ({ components }: ReturnType<typeof meterDocument>) =>
    new Set(Object.values(components).map((body) => body.unit_of_measurement));
  const below = discoveryBelow('heat2mqtt');
  expect(unitsOf(accountDocument(below, { ...ACCOUNT, currency: 'SEK' }))).toEqual(
    new Set(['SEK', undefined]),
  );
  const ofMeter = ['kWh', 'GBP', 'GBP/kWh', 'GBP/d', '%', 'K·d', undefined];
  expect(unitsOf(meterDocument(below, { ...FULL, currency: 'GBP' }))).toEqual(new Set(ofMeter));
});

test('reduces a component to its old platform first when it is gone or of another platform', () => {
  const doc = accountDocument(discoveryBelow('heat2mqtt'), ACCOUNT);
  const platforms = platformsOf(doc);
  expect(platforms).toMatchObject({ auth_state: 'sensor', logins_today: 'sensor' });
  expect(announce(doc, platforms)).toEqual(announce(doc));
  const [whole, ...none] = announce(doc);
  expect(none).toEqual([]);
  const before = { ...platforms, old_amount: 'sensor', auth_state: 'binary_sensor' };
  const [first, second, ...rest] = announce(doc, before);
  expect([second, rest]).toEqual([whole, []]);
  expect(first).toMatchObject({ topic: doc.topic, retain: true, step: true });
  const reduced = { old_amount: { platform: 'sensor' }, auth_state: { platform: 'binary_sensor' } };
  expect(bodyOf(first)).toEqual({ ...bodyOf(whole), components: { ...doc.components, ...reduced } });
});

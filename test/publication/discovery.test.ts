// Discovery against Home Assistant's rules, for plain and odd base topics, and how components and devices go.
import { describe, expect, test } from 'vitest';
import { about } from '../../src/foundation/about.ts';
import { accountDocument, announce, meterDocument, platformsOf } from '../../src/publication/discovery.ts';
import { discoveryComplaints } from '../support/homeAssistantRules.ts';
import { ACCOUNT, bodyOf, discoveryBelow, discoveryOf, EMPTY, FULL } from '../support/inventedHome.ts';

describe.each([
  ['heat2mqtt', 'heat2mqtt'],
  ['heat/home', 'heat_home'],
  ['Wärme', 'W_rme'],
  ['my heat', 'my_heat'],
  ['热力', '_'],
])('below %s', (base, safe) => {
  const options = discoveryBelow(base);
  const messages = discoveryOf(options);

  test('Home Assistant has nothing to complain of', () => {
    expect(discoveryComplaints(messages)).toEqual([]);
  });

  test('topics and identifiers are reduced, state topics are not', () => {
    expect(messages.map(({ topic }) => topic)).toEqual([
      `homeassistant/device/${safe}_bridge/config`,
      `homeassistant/device/${safe}_account_home/config`,
      `homeassistant/device/${safe}_meter_70418235/config`,
    ]);
    const meter = bodyOf(messages[2]);
    expect(meter).toMatchObject({
      device: { identifiers: [`${safe}_meter_70418235`], via_device: `${safe}_bridge` },
      state_topic: `${base}/meter/70418235/state`,
      availability_topic: `${base}/bridge/state`,
      qos: 1,
    });
  });

  test('every unique id begins with the base topic, so that two bridges at one broker share none', () => {
    const ids = messages.flatMap((message) =>
      Object.values(bodyOf(message).components as Record<string, { unique_id: string }>).map(
        ({ unique_id }) => unique_id,
      ),
    );
    expect(ids.length).toBeGreaterThan(40);
    expect(ids.filter((id) => !id.startsWith(`${safe}_`))).toEqual([]);
  });

  test('the bridge is told apart from that of another installation', () => {
    const name = base === 'heat2mqtt' ? 'heat2mqtt' : `heat2mqtt (${base})`;
    expect(bodyOf(messages[0]).device).toMatchObject({ name, manufacturer: 'heat2mqtt', model: 'Bridge' });
  });

  test('everything is retained, and none is an intermediate step', () => {
    expect(messages.filter(({ retain, step }) => !retain || step)).toEqual([]);
  });
});

test('another prefix, even one of two levels', () => {
  expect(
    discoveryComplaints(discoveryOf(discoveryBelow('heat2mqtt', 'ha/discovery')), 'ha/discovery'),
  ).toEqual([]);
});

test('a meter without identifiers has no serial number, and is otherwise the same', () => {
  const nameless = { ...EMPTY, meter: '512001', identifiers: [] };
  const messages = discoveryOf(discoveryBelow('heat2mqtt'), nameless);
  expect(discoveryComplaints(messages)).toEqual([]);
  expect(bodyOf(messages[2]).device).not.toHaveProperty('serial_number');
});

test('meters and accounts hang on the bridge by its identifier', () => {
  const [bridge, account, meter] = discoveryOf(discoveryBelow('heat2mqtt')).map(bodyOf);
  expect(bridge?.device).toMatchObject({ identifiers: ['heat2mqtt_bridge'], name: 'heat2mqtt' });
  expect(bridge?.device).not.toHaveProperty('via_device');
  for (const one of [account, meter]) expect(one?.device).toMatchObject({ via_device: 'heat2mqtt_bridge' });
});

test('each device leads to the page where others can open it, else the bridge to the project', () => {
  const urls = (page: string | null) =>
    discoveryOf({ ...discoveryBelow('heat2mqtt'), page }).map(
      (message) => Object(bodyOf(message).device).configuration_url,
    );
  const page = 'http://192.168.1.10:8099/';
  expect(urls(page)).toEqual([page, page, page]);
  expect(urls(null)).toEqual([about.url, undefined, undefined]);
});

test('only the pair for the Energy dashboard has a state class', () => {
  const { components } = meterDocument(discoveryBelow('heat2mqtt'), FULL);
  const totals = Object.entries(components).filter(([, { state_class }]) => state_class !== undefined);
  expect(totals.map(([key, { state_class }]) => [key, state_class])).toEqual([
    ['energy_total', 'total'],
    ['cost_total', 'total'],
  ]);
});

test('money is in the currency of the meter', () => {
  const { components } = meterDocument(discoveryBelow('heat2mqtt'), { ...FULL, currency: 'GBP' });
  const units = new Set(Object.values(components).map((body) => body.unit_of_measurement));
  expect(units).toEqual(new Set(['kWh', 'GBP', 'GBP/kWh', 'GBP/d', '%', 'K·d', undefined]));
});

describe('announce', () => {
  const options = discoveryBelow('heat2mqtt');
  const doc = accountDocument(options, ACCOUNT);
  const platforms = platformsOf(doc);

  test('an unchanged document is one message', () => {
    expect(announce(doc, platforms)).toEqual(announce(doc));
    expect(announce(doc)).toHaveLength(1);
  });

  test('a component that is gone is first reduced to its platform, then left out', () => {
    const [first, second, ...rest] = announce(doc, {
      ...platforms,
      old_amount: 'sensor',
      old_flag: 'binary_sensor',
    });
    expect(rest).toEqual([]);
    expect(first).toMatchObject({ topic: doc.topic, retain: true, step: true });
    expect(bodyOf(first)).toEqual({
      ...bodyOf(second),
      components: {
        ...doc.components,
        old_amount: { platform: 'sensor' },
        old_flag: { platform: 'binary_sensor' },
      },
    });
    expect(second).toEqual(announce(doc)[0]);
    expect(discoveryComplaints([first, second].flatMap((one) => one ?? []).slice(0, 1))).toEqual([]);
  });

  test('a component of another platform is first taken away under its old one', () => {
    const [first, second] = announce(doc, { ...platforms, auth_state: 'binary_sensor' });
    expect(bodyOf(first).components).toMatchObject({ auth_state: { platform: 'binary_sensor' } });
    expect(Object.keys((bodyOf(first).components as typeof doc.components).auth_state ?? {})).toEqual([
      'platform',
    ]);
    expect(bodyOf(second).components).toEqual(doc.components);
  });

  test('platforms are what the components say', () => {
    expect(platforms).toMatchObject({ auth_state: 'sensor', logins_today: 'sensor' });
    expect(Object.keys(platforms)).toEqual(Object.keys(doc.components));
  });
});

// Ids of statistics: by Home Assistant's rules whatever the names, and never one id for two meters.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { seriesOf } from '../../src/homeassistant/recorder.ts';
import { holds } from '../support/property.ts';

const RULE = /^(?!.+__)(?!_)[\da-z_]+(?<!_):(?!_)[\da-z_]+(?<!_)$/;
const X = { meter: 'x', friendlyName: null, currency: 'CHF' };
const ids = (base: string, meter: string, all: readonly string[] = [meter]) =>
  seriesOf(base, { ...X, meter }, all).map(({ id }) => id);

test.each([
  ['heat2mqtt', '70418235', 'heat2mqtt:70418235_energy'],
  ['home/Heat', 'HM-70418235', 'home_heat:hm_70418235_energy'],
  ['_heat__2_', '__a--b__', 'heat_2:a_b_energy'],
  ['wärme', '-', 'w_rme:meter_energy'],
  ['暖', 'x', 'heat2mqtt:x_energy'],
])('%s and %s: %s', (base, meter, id) => {
  expect(ids(base, meter)[0]).toBe(id);
});

test('cuts the source to 32 characters when the base topic is longer', () => {
  const [, cost] = seriesOf('a/very/long/base/topic/that/goes/on_and_on', X, ['x']);
  expect(cost).toMatchObject({ id: 'a_very_long_base_topic_that_goes:x_cost', unit: 'CHF' });
});

const anyName = fc.stringMatching(/^[A-Za-z0-9_-]{1,12}$/);

test('gives each meter two allowed ids of its own when names are anything', () => {
  holds(fc.uniqueArray(anyName, { minLength: 1, maxLength: 12 }), fc.string(), (all, base) => {
    const given = all.flatMap((meter) => ids(base, meter, all));
    expect(new Set(given).size).toBe(all.length * 2);
    expect(given.filter((id) => !RULE.test(id))).toEqual([]);
  });
});

test('gives one of two a suffix that stays when they differ only in what an id cannot hold', () => {
  const [plain, suffixed] = ['A-1', 'a_1'].map((meter) => ids('b', meter, ['a_1', 'A-1'])[0]);
  expect(plain).toBe('b:a_1_energy');
  expect(suffixed).toMatch(/^b:a_1_[0-9a-f]{8}_energy$/);
});

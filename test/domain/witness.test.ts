// What a meter's own register looks like on a broker, and what looks like one and is none.
import { expect, test } from 'vitest';
import { readRegister, type WitnessOptions } from '../../src/domain/witness.ts';

const read = (payload: unknown, options: WitnessOptions = {}) =>
  readRegister(Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload)), options);

/** As wmbusmeters publishes one, of an invented meter. */
const telegram = (fields: object = {}) => ({
  _: 'telegram',
  media: 'heat',
  meter: 'sharky774',
  name: 'flat',
  id: '58496405',
  timestamp: '2026-11-27T00:30:05Z',
  total_energy_consumption_kwh: 6891,
  ...fields,
});
const withRegister = (fields: object) => telegram({ total_energy_consumption_kwh: undefined, ...fields });

/** More levels than a program that calls itself for each of them can go through. */
const nested = (open: string, close: string, innermost = '') =>
  open.repeat(10_000) + innermost + close.repeat(10_000);

test.each<[string, unknown, number, WitnessOptions?]>([
  ['a telegram of wmbusmeters', telegram(), 6891],
  ['total_kwh', withRegister({ total_kwh: 12.5 }), 12.5],
  ['total_heating_kwh', withRegister({ total_heating_kwh: 12.5 }), 12.5],
  ['total_heat_energy_kwh', withRegister({ total_heat_energy_kwh: 12.5 }), 12.5],
  ['heat_kwh', withRegister({ heat_kwh: 12.5 }), 12.5],
  ['total_energy_kwh', withRegister({ total_energy_kwh: 12.5 }), 12.5],
  ['a telegram without media and status', { total_kwh: 5 }, 5],
  ['a meter for heat and cooling', telegram({ media: 'heat/cooling load' }), 6891],
  ['a volume at the inlet as medium', telegram({ media: 'heat volume at inlet' }), 6891],
  ['a radio converter', telegram({ media: 'radio converter (meter side)' }), 6891],
  ['a status that is well', telegram({ status: 'OK' }), 6891],
  ['a number alone', '6891.25', 6891.25],
  ['a number alone, with white space', ' 6891.2\n', 6891.2],
  ['a number alone that ends as texts in C do', '6891.2\0', 6891.2],
  ['a telegram that ends as texts in C do', `${JSON.stringify(telegram())}\0\0`, 6891],
  ['a number alone in MWh', '6.891', 6891, { unit: 'MWh' }],
  ['a number written as a text', { total_kwh: '6891.2' }, 6891.2],
  ['a nested field', { SENSOR: { Heat: { total: 12.5 } } }, 12.5, { field: 'SENSOR.Heat.total' }],
  ['a field with dots in its name', { '1.8.0': '749.5' }, 749.5, { field: '1.8.0' }],
  [
    'a nested field with dots in its name, beside one whose name only begins so',
    { SML: { 1: { 8: { 1: 7 } }, '1.8.0': 12.5 } },
    12.5,
    { field: 'SML.1.8.0' },
  ],
  [
    'a field of a list',
    { DataRecords: [{}, { Value: 7 }] },
    7000,
    { field: 'DataRecords.1.Value', unit: 'MWh' },
  ],
  ['a field in MWh by its name', { heat_mwh: 6.5 }, 6500, { field: 'heat_mwh' }],
  ['a field in GJ by its name', { energy_gj: 3.6 }, 1000, { field: 'energy_gj' }],
  ['a field in MJ by its name', { energy_MJ: 3600 }, 1000, { field: 'energy_MJ' }],
  ['a field in Wh by its name', { energy_wh: 6_891_250 }, 6891.25, { field: 'energy_wh' }],
  ['a field in MWh by its name without an underscore', { heatMWh: 6.5 }, 6500, { field: 'heatMWh' }],
  ['a field in GJ by its name without an underscore', { totalGJ: 3.6 }, 1000, { field: 'totalGJ' }],
  ['a field in Wh by its name without an underscore', { heatWh: 6500 }, 6.5, { field: 'heatWh' }],
  ['a field in kWh by its name without an underscore', { heatkWh: 6.5 }, 6.5, { field: 'heatkWh' }],
  [
    'the unit of the configuration before that of the name',
    { heat_mwh: 3.6 },
    1000,
    { field: 'heat_mwh', unit: 'GJ' },
  ],
])('takes the register of %s', (_, payload, kwh, options) => {
  expect(read(payload, options)).toMatchObject({ energy: Math.round(kwh * 1e6) });
});

test.each<[string, unknown, string, WitnessOptions?]>([
  ['a telegram with only the last settlement day', withRegister({ target_kwh: 6100 }), 'no_register'],
  ['a word of Home Assistant', 'unavailable', 'no_register'],
  ['nothing', '', 'no_register'],
  ['a decimal comma', '6891,2', 'no_register'],
  ['a field that is missing', telegram(), 'no_register', { field: 'SENSOR.total' }],
  ['a field that is an object', { SENSOR: {} }, 'no_register', { field: 'SENSOR' }],
  ['a field that every object has', telegram(), 'no_register', { field: 'constructor.length' }],
  ['null', { total_kwh: null }, 'no_register'],
  [
    'an object where a field of the configuration names a number alone',
    '12',
    'no_register',
    { field: 'total_kwh' },
  ],
  ['a long text', 'x'.repeat(70_000), 'no_register'],
  ['lists in lists that fill a telegram', `{"total_kwh":${nested('[', ']')}}`, 'no_register'],
  ['objects in objects that fill a telegram', `{"total_kwh":${nested('{"a":', '}', '1')}}`, 'no_register'],
  ['electricity', telegram({ media: 'electricity' }), 'not_heat'],
  ['gas', telegram({ media: 'gas' }), 'not_heat'],
  ['warm water', telegram({ media: 'warm water' }), 'not_heat'],
  ['cooling', telegram({ media: 'cooling load volume at outlet' }), 'not_heat'],
  ['a heat cost allocator', telegram({ media: 'heat cost allocation' }), 'not_heat'],
  ['the other word for it', telegram({ media: 'heat cost allocator' }), 'not_heat'],
  ['a status', telegram({ status: 'FLOW_ERROR SABOTAGE' }), 'status'],
  ['a sentinel of 32 bits', telegram({ total_energy_consumption_kwh: -2147483648 }), 'nonsense'],
  ['a sentinel of 16 bits', telegram({ total_energy_consumption_kwh: -32768 }), 'nonsense'],
  ['nines', '99999999', 'nonsense'],
  ['a register below 0', '-854548', 'nonsense'],
  ['0, which a receiver shows until it knows better', '0', 'nonsense'],
  ['an impossible one by its unit', '6891000', 'nonsense', { unit: 'MWh' }],
])('refuses %s', (_, payload, code, options) => {
  expect(read(payload, options)).toMatchObject({ refused: code, message: expect.any(String) });
});

test('refuses a telegram of NULs without looking at each of them again and again', () => {
  const began = performance.now();
  expect(read(`${'\0'.repeat(65_000)}6891`)).toMatchObject({ refused: 'no_register' });
  expect(performance.now() - began).toBeLessThan(1_000);
});

test('writes no line of its own into the log when a telegram has control characters', () => {
  const written = 'a\n[12:00:00] FATAL: b\u001b[31m\u009b2J\u202e';
  const plain = 'a[12:00:00] FATAL: b[31m2J';
  expect(read(telegram({ id: written }))).toMatchObject({ meter: plain });
  expect(read(telegram({ status: '\u009b2J' }))).toMatchObject({ message: 'the meter reports "2J"' });
});

test('tells no half of a character when a text is cut short', () => {
  const flames = `x${'🔥'.repeat(30)}`;
  expect(read(telegram({ id: flames }))).toMatchObject({ meter: `x${'🔥'.repeat(19)}` });
  expect(read(telegram({ status: `x${flames}` }))).toMatchObject({
    message: `the meter reports "xx${'🔥'.repeat(18)}`,
  });
});

test('names the field, and what came in its place', () => {
  expect(read({ heat: { total: 'n/a' } }, { field: 'heat.total' })).toMatchObject({
    message: 'heat.total was expected, and "n/a" came',
  });
});

test.each([
  ['has', '2026-11-27T00:30:05Z', Date.parse('2026-11-27T00:30:05Z')],
  ['has, with an offset', '2026-11-27T01:30:05+01:00', Date.parse('2026-11-27T00:30:05Z')],
  ['lacks, as its clock has no zone', '2026-11-27T00:30:05', null],
  ['lacks', undefined, null],
  ['lacks, as it is no instant', '2026-13-45T00:30:05Z', null],
])('a telegram %s a time of reception: %s', (_, timestamp, expected) => {
  expect(read(telegram({ timestamp, meter_datetime: '2026-11-27 00:29' }))).toMatchObject({
    receivedAt: expected,
  });
});

test('temperatures and volume come with the register, from beside it, and nonsense does not', () => {
  const beside = { flow_temperature_c: 61.5, return_temperature_c: -32768, total_volume_m3: 301.4 };
  const surroundings = { flowTemperature: 61.5, volume: 301.4 };
  expect(read(telegram(beside))).toMatchObject({ surroundings });
  expect(read({ SENSOR: { total: 5, ...beside } }, { field: 'SENSOR.total' })).toHaveProperty(
    'surroundings',
    surroundings,
  );
});

test('the meter is known by its identifier, and those that send the state of midnight by their driver', () => {
  expect(read(telegram({ meter: 'compact5' }))).toMatchObject({ meter: '58496405', isOfMidnight: true });
  expect(read(telegram({ id: 58496405 }))).toMatchObject({ meter: '58496405', isOfMidnight: false });
  expect(read('12')).toMatchObject({ meter: undefined, isOfMidnight: false });
});

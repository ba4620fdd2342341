// A meter's register as a radio receiver, an optical head or Home Assistant publishes it: a number, or a number in a JSON object. Pure.
import { type Micro, toMicro } from './amount.ts';

/** One of each unit is so many kWh. */
const KWH_IN = { kWh: 1, MWh: 1000, MJ: 1 / 3.6, GJ: 1000 / 3.6, Wh: 0.001 } as const;

type WitnessUnit = keyof typeof KWH_IN;
const UNITS = Object.keys(KWH_IN) as WitnessUnit[];

export interface WitnessOptions {
  /** A dotted path; default: the first field that is known for heat. */
  readonly field?: string | undefined;
  /** Default: by the name of the field, else kWh. */
  readonly unit?: WitnessUnit | undefined;
}

export interface Telegram {
  readonly energy: Micro;
  /** A receiver has heard it then, epoch milliseconds; `null`: it does not say so. */
  readonly receivedAt: number | null;
  /** The identifier of the meter; undefined: not told. */
  readonly meter: string | undefined;
  /** The meter sends the register of the last midnight all day. */
  readonly isOfMidnight: boolean;
  /** The meter's surroundings that it tells, in °C and m³. */
  readonly surroundings: Readonly<Partial<Record<keyof typeof SURROUNDINGS, number>>>;
}

/** The reason why something is not taken. `no_register`: a telegram without one, as many meters send between others. */
export interface WitnessRefusal {
  readonly refused:
    | 'no_register'
    | 'not_heat'
    | 'status'
    | 'nonsense'
    | 'another_meter'
    | 'fallen'
    | 'jumped';
  readonly message: string;
}

/** The names of a heat meter's register; no driver of wmbusmeters has two of them. */
const FIELDS = [
  'total_energy_consumption_kwh',
  'total_kwh',
  'total_heating_kwh',
  'total_heat_energy_kwh',
  'heat_kwh',
  'total_energy_kwh',
];
/** Drivers of meters that send the register of the last midnight all day. */
const OF_MIDNIGHT: readonly unknown[] = ['compact5', 'vario451'];
/** "heat/cooling load" is heat, and "radio converter" may be. */
const OTHER_MEDIA = /electric|gas|water|cost|^cool/i;
const LARGEST_BYTES = 65_536;
/** Eight digits of nines, and whatever else is above, are no register; 100 GWh is a small town. */
const LARGEST_KWH = 99_999_998;
const LONGEST_SHOWN = 40;
/** Values beside the register in many telegrams: the field of each, and the ends of what is no nonsense, such as -32768. */
const SURROUNDINGS = {
  flowTemperature: ['flow_temperature_c', -30, 200],
  returnTemperature: ['return_temperature_c', -30, 200],
  volume: ['total_volume_m3', 0, LARGEST_KWH],
} as const;

const refuse = (refused: WitnessRefusal['refused'], message: string): WitnessRefusal => ({
  refused,
  message,
});

/** What has values in it is not quoted: writing thousands of them within one another takes more stack than there is. */
function shown(value: unknown): string {
  if (isObject(value)) return Array.isArray(value) ? 'a list' : 'an object';
  return printable(JSON.stringify(value) ?? 'nothing');
}

/**
 * Who may publish here could write lines of the log, or move about in a terminal. Half a surrogate pair at the end is no JSON to Home
 * Assistant, which would lose all of the health.
 */
const printable = (text: string): string => text.slice(0, LONGEST_SHOWN).replace(/\p{C}/gu, '');

export function readRegister(payload: Buffer, { field, unit }: WitnessOptions): Telegram | WitnessRefusal {
  if (payload.length > LARGEST_BYTES) return refuse('no_register', 'it has more than 64 KiB');
  const message = parsed(payload);
  const telegram = isObject(message) ? message : {};
  const path = field ?? (isObject(message) ? FIELDS.find((name) => Object.hasOwn(message, name)) : '');
  if (path === undefined)
    return refuse(
      'no_register',
      `it has none of ${FIELDS.join(', ')}; meters.<meter>.witness.field names another`,
    );
  const { value, beside } = path === '' ? { value: message } : (placeAt(message, path) ?? {});
  const amount = numberOf(value);
  if (amount === undefined)
    return refuse('no_register', `${path === '' ? 'a number' : path} was expected, and ${shown(value)} came`);
  const { media, status } = telegram;
  if (typeof media === 'string' && OTHER_MEDIA.test(media))
    return refuse('not_heat', `it is of another meter (media: ${shown(media)})`);
  if (typeof status === 'string' && !/^(ok)?$/i.test(status.trim()))
    return refuse('status', `the meter reports ${shown(status)}`);
  const kwh = amount * KWH_IN[unit ?? unitIn(path)];
  // Some meters and receivers show 0 until they know better.
  if (!(kwh > 0 && kwh < LARGEST_KWH)) return refuse('nonsense', `${shown(value)} is no register`);
  return {
    energy: toMicro(kwh),
    receivedAt: instantIn(telegram.timestamp),
    meter: identifierIn(telegram.id),
    isOfMidnight: OF_MIDNIGHT.includes(telegram.meter),
    surroundings: surroundingsIn({ ...telegram, ...beside }),
  };
}

/** A text that is no JSON stays a text: Home Assistant publishes `unavailable`. Some programs in C send the NUL at the end of theirs. */
function parsed(payload: Buffer): unknown {
  let end = payload.length;
  while (payload[end - 1] === 0) end -= 1;
  const text = payload.toString('utf8', 0, end);
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

interface Place {
  readonly value: unknown;
  /** The object or list that has it. */
  readonly beside: object;
}

/** A name may have dots of its own, as that of the register 1.8.0 has. */
function placeAt(fields: unknown, path: string): Place | undefined {
  if (!isObject(fields)) return undefined;
  if (Object.hasOwn(fields, path)) return { value: fields[path], beside: fields };
  for (let dot = path.indexOf('.'); dot !== -1; dot = path.indexOf('.', dot + 1)) {
    const name = path.slice(0, dot);
    const place = Object.hasOwn(fields, name) ? placeAt(fields[name], path.slice(dot + 1)) : undefined;
    if (place) return place;
  }
  return undefined;
}

/** Some gateways write their numbers as texts. */
function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value.trim()) ? Number(value) : undefined;
}

/** The last word of the name: heat_mwh, heat.MWh, heatMWh. */
function unitIn(path: string): WitnessUnit {
  const [, ending] = /(?:^|[^a-z])(kwh|mwh|mj|gj|wh)$/i.exec(path) ?? /((?<!k)M?Wh|[MG]J)$/.exec(path) ?? [];
  return UNITS.find((unit) => unit.toLowerCase() === ending?.toLowerCase()) ?? 'kWh';
}

/** Most receivers write it as a text, and some, such as rtl_433, as a number. */
function identifierIn(id: unknown): string | undefined {
  const isNamed = typeof id === 'string' || Number.isSafeInteger(id);
  return isNamed ? printable(String(id)) : undefined;
}

/** Without a zone it may be the meter's own clock, which nobody sets. */
function instantIn(text: unknown): number | null {
  const isInstant = typeof text === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:?\d\d)$/.test(text);
  const at = isInstant ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : at;
}

function surroundingsIn(fields: Record<string, unknown>): Telegram['surroundings'] {
  const plausible = Object.entries(SURROUNDINGS).flatMap(([name, [field, least, most]]) => {
    const value = numberOf(fields[field]) ?? Number.NaN;
    return value >= least && value <= most ? [[name, value] as const] : [];
  });
  return Object.fromEntries(plausible);
}

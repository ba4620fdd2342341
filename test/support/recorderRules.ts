// Home Assistant's own rules for imported statistics: what its recorder refuses, in the order in which it looks.

type Fields = Readonly<Record<string, unknown>>;

export interface Refusal {
  readonly code: string;
  readonly message: string;
}

const METADATA = [
  'mean_type',
  'has_sum',
  'name',
  'source',
  'statistic_id',
  'unit_class',
  'unit_of_measurement',
];
const ROW = ['start', 'state', 'sum', 'mean', 'min', 'max', 'last_reset'];
const EXTERNAL_ID = /^(?!.+__)(?!_)[\da-z_]+(?<!_):(?!_)[\da-z_]+(?<!_)$/;
const ENERGY_UNITS = ['Wh', 'kWh', 'MWh', 'GJ'];

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

/** `null`: it is taken in. */
export function importRefusal(message: Fields): Refusal | null {
  const { id: _, type: __, metadata, stats, ...more } = message;
  const invalid = (text: string): Refusal => ({ code: 'invalid_format', message: text });
  if (Object.keys(more).length > 0) return invalid(`extra keys: ${Object.keys(more)}`);
  if (!isFields(metadata) || !Array.isArray(stats)) return invalid('metadata and stats');
  const strange = Object.keys(metadata).find((key) => !METADATA.includes(key));
  const missing = METADATA.find((key) => !(key in metadata));
  if (strange || missing) return invalid(`metadata: ${strange ?? missing}`);
  if (metadata.mean_type !== 0 || metadata.has_sum !== true) return invalid('mean_type or has_sum');
  for (const row of stats) {
    if (!isFields(row) || Object.keys(row).some((key) => !ROW.includes(key))) return invalid('a row');
    if (typeof row.state !== 'number' || typeof row.sum !== 'number') return invalid('state or sum');
    if (typeof row.start !== 'string' || Number.isNaN(Date.parse(row.start))) return invalid('start');
  }
  const refused = (text: string): Refusal => ({ code: 'home_assistant_error', message: text });
  const { statistic_id: id, source, unit_class: unitClass, unit_of_measurement: unit } = metadata;
  if (!EXTERNAL_ID.test(String(id))) return refused('Invalid statistic_id');
  if (source !== String(id).split(':')[0]) return refused('Invalid source');
  if (unitClass !== null && (unitClass !== 'energy' || !ENERGY_UNITS.includes(String(unit))))
    return refused('unit_class');
  if (typeof unit !== 'string') return refused('unit_of_measurement');
  for (const { start } of stats) {
    if (!/[+-]\d\d:\d\d$/.test(start)) return refused('Naive timestamp');
    if (!/T\d\d:00:00[+-]/.test(start)) return refused('Invalid timestamp: not on the hour');
  }
  return null;
}

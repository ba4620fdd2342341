// From a table of entities to the schema of its state object.
import * as z from 'zod';
import type { EntityRow } from '../entityRow.ts';
import { day, instant, payload, text } from './parts.ts';

/** `others`: the rows of which neither unit nor device class tells what their value is. */
export function stateOf<View>(
  rows: readonly EntityRow<View>[],
  others: Readonly<Record<string, z.ZodType>>,
): z.ZodType<Record<string, unknown>> {
  const needless = Object.keys(others).filter((key) => !rows.some((row) => row.key === key));
  if (needless.length > 0) throw new Error(`no row has the key ${needless.join(', ')}`);
  return payload(
    Object.fromEntries(
      rows.map((row) => [row.key, (others[row.key] ?? shapeOf(row)).describe(withUnit(row))]),
    ),
  );
}

const withUnit = ({ help, unit }: Pick<EntityRow<never>, 'help' | 'unit'>): string =>
  unit === undefined ? help : `${help} In ${unit.replace('{currency}', "the provider's currency")}.`;

function shapeOf<View>({ key, platform, deviceClass, unit, options }: EntityRow<View>): z.ZodType {
  if (platform === 'binary_sensor') return z.boolean().nullable();
  if (options) return z.enum(options).nullable();
  if (deviceClass === 'date') return day.nullable();
  if (deviceClass === 'timestamp') return instant.nullable();
  if (unit !== undefined) return z.number().nullable();
  if (deviceClass === undefined)
    throw new Error(`${key}: say in src/publication/payloads what its value is, as for missing_days`);
  return text.nullable();
}

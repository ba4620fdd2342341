// What payloads are made of: instants, days, amounts, what is published of a fault, and the state object of a table of entities.
import * as z from 'zod';
import type { EntityRow } from '../entities/entityRow.ts';

/** A JSON object on a topic. Keys that are not named here are refused by the tests. */
export const payload = <S extends z.ZodRawShape>(shape: S) =>
  z.strictObject({
    schema: z.literal(1).describe('Grows when a key changes its meaning or goes away.'),
    ...shape,
  });

export const instant = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{3})?([+-]\d{2}:\d{2}|Z)$/)
  .meta({ format: 'date-time' });

export const day = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/)
  .meta({ format: 'date' });

export const text = z.string().min(1);

/** A level of a topic, and what stands for a meter or an account in it. */
export const name = z.string().regex(/^[A-Za-z0-9_-]+$/);

export const count = z.int().min(0);

export const readingCloses = z
  .enum(['same_day', 'previous_day'])
  .describe('A reading counts for the day on which it is taken, or for the day before.');

export const energyKwh = z.number().nullable().describe('kWh; null = not known.');
export const costEur = z.number().nullable().describe("In the provider's currency; null = not known.");

/** What is told of a fault; holds neither secrets nor personal data. */
export const faultWords = z.strictObject({
  code: text.describe('Stable: what a flow branches on.'),
  message: text,
  hint: text.optional().describe('What the person at home can do.'),
});

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
  if (options) return z.enum(Object.keys(options)).nullable();
  if (deviceClass === 'date') return day.nullable();
  if (deviceClass === 'timestamp') return instant.nullable();
  if (unit !== undefined) return z.number().nullable();
  if (deviceClass === undefined)
    throw new Error(`${key}: give its schema in src/publication/payloads, as for missing_days`);
  return text.nullable();
}

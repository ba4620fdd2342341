// The parts of payloads: instants, days, amounts, the words of a fault, and the state object of a table of entities.
import * as z from 'zod';
import { type EntityRow, keysOf, type StateKey } from '../entities/entityRow.ts';

/** A JSON object. Keys that are not named are refused by the tests. */
export const object = z.strictObject;

/** A JSON object on a topic. */
export const payload = <S extends z.ZodRawShape>(shape: S) =>
  object({
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

/** `null` = not known, or not told. */
export const known = z.number().nullable();

/** ISO 4217. */
export const currency = text.length(3).describe('Of all amounts of money.');

export const readingCloses = z
  .enum(['same_day', 'previous_day'])
  .describe('A reading counts for the day on which it is taken, or for the day before.');

export const energyKwh = z.number().nullable().describe('kWh; null = not known.');
export const costEur = z.number().nullable().describe("In the provider's currency; null = not known.");

/** The published words of a fault; they hold neither secrets nor personal data. */
export const faultWords = object({
  code: text.describe('Stable: what a flow branches on.'),
  message: text,
  hint: text.optional().describe('What the person at home can do.'),
});

/** `others`: the keys of which neither unit nor device class nor options tell the value's shape. */
export function stateOf<View>(
  rows: readonly EntityRow<View>[],
  others: Readonly<Record<string, z.ZodType>>,
): z.ZodType<Record<string, unknown>> {
  return payload(
    Object.fromEntries(
      keysOf(rows).map((row) => {
        const shape = (others[row.key] ?? shapeOf(row)).describe(withUnit(row));
        return [row.key, row.entity.optional ? shape.optional() : shape];
      }),
    ),
  );
}

const withUnit = ({ help, unit }: Pick<StateKey<never>, 'help' | 'unit'>): string =>
  unit === undefined ? help : `${help} In ${unit.replace('{currency}', "the provider's currency")}.`;

function shapeOf<View>({ key, attribute, deviceClass, unit, options, entity }: StateKey<View>): z.ZodType {
  if (attribute === null && entity.platform === 'binary_sensor') return z.boolean().nullable();
  if (options) return z.enum(options).nullable();
  if (deviceClass === 'date') return day.nullable();
  if (deviceClass === 'timestamp') return instant.nullable();
  if (unit !== undefined) return z.number().nullable();
  throw new Error(
    `${key}: give it a unit, a device class or options, or its schema in src/publication/payloads, as for missing_days`,
  );
}

// What payloads are made of: instants, days, amounts, words about a fault. Types come from here; the program loads none of it.
import * as z from 'zod';

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

export const energyKwh = z.number().nullable().describe('kWh; null = not known.');
export const costEur = z.number().nullable().describe("In the provider's currency; null = not known.");

/** Of a fault, safe for everybody's eyes. */
export const faultWords = z.strictObject({
  code: text.describe('Stable: what a flow branches on.'),
  message: text,
  hint: text.optional().describe('What the person at home can do.'),
});

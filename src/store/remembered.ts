// What the broker remembers of a meter: its retained state, read back when the state directory is lost.
import * as z from 'zod';
import { toMicro } from '../domain/amount.ts';
import type { Remembered } from '../domain/recovery.ts';

const day = z.iso.date();
const total = z.number().min(0).max(1_000_000_000);
const state = z.object({
  schema: z.literal(1),
  energy_total: total,
  cost_total: total.nullable(),
  day,
  missing_days: z.number().int().min(0),
  origin: day,
  opening_balance: z.object({ energy_kwh: total, cost_eur: total }).nullish(),
});

/** `null` for anything that is not a state of ours with a total in it: anybody may write to a broker. */
export function readRemembered(payload: Buffer): Remembered | null {
  let json: unknown;
  try {
    json = JSON.parse(payload.toString('utf8'));
  } catch {
    return null;
  }
  const parsed = state.safeParse(json, { jitless: true });
  if (!parsed.success || parsed.data.origin > parsed.data.day) return null;
  const { origin, energy_total, cost_total, day: newestDay, missing_days, opening_balance } = parsed.data;
  return {
    origin,
    energy: toMicro(energy_total),
    cost: toMicro(cost_total ?? 0),
    opening: {
      energy: toMicro(opening_balance?.energy_kwh ?? 0),
      cost: toMicro(opening_balance?.cost_eur ?? 0),
    },
    newestDay,
    missingDays: missing_days,
  };
}

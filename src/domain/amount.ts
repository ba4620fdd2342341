// Energy and money as whole millionths, so that sums are exact; rounded once, when they are published.

/** Millionths of a kilowatt-hour or of a currency unit: an integer, exact up to nine thousand million units. */
export type Micro = number;

const MICRO = 1_000_000;
const MICRO_PER_MILLI = 1_000;

/** The provider gives decimal numbers. Float noise below half a millionth is dropped here. */
export const toMicro = (units: number): Micro => noNegativeZero(Math.round(units * MICRO));

/** Three decimals; halves are rounded away from zero. */
export function toUnits(micro: Micro): number {
  const milli = Math.sign(micro) * Math.floor((Math.abs(micro) + MICRO_PER_MILLI / 2) / MICRO_PER_MILLI);
  return noNegativeZero(milli / 1000);
}

/** The same; `null` stays `null`: not known. */
export const knownUnits = (micro: Micro | null | undefined): number | null =>
  micro == null ? null : toUnits(micro);

/** One decimal, of any unit. */
export const toTenths = (value: number): number => Math.round(value * 10) / 10 || 0;

/** All its decimals stay. */
export const inFull = (micro: Micro): number => micro / MICRO;

/** The same; `null` stays `null`. */
export const knownInFull = (micro: Micro | null): number | null => (micro === null ? null : inFull(micro));

/** Sum of what is known; `null` when nothing is. */
export function sumKnown(amounts: Iterable<Micro | null>): Micro | null {
  let sum: Micro | null = null;
  for (const amount of amounts) if (amount !== null) sum = (sum ?? 0) + amount;
  return sum;
}

const noNegativeZero = (value: number): number => (value === 0 ? 0 : value);

// What a household usually uses, learned day by day: a level, a factor for each weekday, and how far its days stray.

import { meanOf, median, quantile, robustDeviation } from '../statistics.ts';
import type { SingleDay } from './expectation.ts';

/** Fewer do not tell what is usual. */
export const FEWEST_DAYS = 30;
/** So many days together are compared with what was expected of them. */
const LONGEST_RUN = 3;
const SLOW_DAYS = 28;
const FAST_GAIN = 0.5;
const FOLLOWING_DAYS = 120;
const STRAYING_DAYS = 200;
/** Of normal noise 99 % lie within so many standard deviations. A day counts as no further off than this. */
const BAND = 2.576;
/** Mean square of normal noise cut at the band (0.98), less a reserve for what the level itself is off. */
const CUT_SQUARE = 0.955;
/** Of weekdays and of strays, that many days count as if they were like all. */
const USUAL_WEEKS = 8;
const USUAL_STRAYS = 20;
/** In shares of the mean day: what use is never known more exactly than, and from where on a day teaches fully. */
const OFFSET_SHARE = 0.1;
const TEACHING_SHARE = 0.5;
/** Mean square: however even the days were, one that is 5 % off is nothing. */
const LEAST_SQUARE = 0.05 ** 2;

/** A mean square, of which the newest `STRAYING_DAYS` count. */
interface Spread {
  square: number;
  days: number;
}

interface Seen {
  readonly energy: number;
  /** What was expected, without the level. */
  readonly form: number;
  readonly level: number;
}

/**
 * What is usual, learned day by day. Use strays in proportion to what is expected on cold days and by some constant on
 * mild ones, and a little further up than down: square roots of kWh are compared, and the spread is learned for days of
 * little and of much use apart.
 */
export class Habits {
  /** kWh */
  readonly #mean: number;
  readonly #offset: number;
  /** Square roots of a small and of a large day. */
  readonly #ends: readonly [number, number];
  #slow = 1;
  #fast = 1;
  /** How much of the way from the slow level to the fast one the next day goes: weather that is not known lasts. */
  #product = 0;
  #square = 0;
  readonly #weekdays = Array.from({ length: 7 }, () => ({ sum: 0, days: 0 }));
  /** For each number of days together: of small days, of large ones, and of all. */
  readonly #spreads: readonly (readonly [Spread, Spread, Spread])[];
  #newest: Seen[] = [];
  #deviations: readonly number[] = [];

  /** The newest of the days counts for nothing here: it is to be judged. Robust, as one of the first may be far off. */
  constructor(days: readonly SingleDay[]) {
    const before = days.slice(0, -1);
    const energies = before.map(({ energy }) => energy);
    this.#mean = meanOf(before, ({ energy }) => energy);
    // Not 0 for a meter that has never counted.
    this.#offset = OFFSET_SHARE * this.#mean || 1;
    this.#ends = [this.#root(quantile(energies, 0.1)), this.#root(quantile(energies, 0.9))];
    const first = days.slice(0, FEWEST_DAYS);
    const level = median(first.map((day) => day.energy / this.#form(day)));
    this.#slow = this.#fast = Math.max(level, OFFSET_SHARE);
    const strays = first.map((day) => this.#deviation(day.energy, this.#form(day) * this.#slow));
    const square = robustDeviation(strays) ** 2;
    this.#spreads = Array.from({ length: LONGEST_RUN }, (_, before) => [
      { square: 0, days: 0 },
      { square: 0, days: 0 },
      { square: (before + 1) * square, days: FEWEST_DAYS },
    ]);
  }

  /** What comes is not compared together with what was before. */
  interrupt(): void {
    this.#newest = [];
    this.#deviations = this.#deviations.slice(0, 1);
  }

  /** kWh that are expected of a day and the ends of its band. */
  expect(day: SingleDay): { expected: number; low: number; high: number } {
    const expected = this.#form(day) * this.#level();
    const middle = this.#root(expected);
    const reach = BAND * this.#unit(expected) * Math.sqrt(this.#spread(0, expected));
    const end = (root: number) => Math.max(0, Math.max(0, root) ** 2 - this.#offset);
    return { expected, low: end(middle - reach), high: end(middle + reach) };
  }

  /**
   * How far the day, it and the one before, and so on are off what was expected before the first of them, in standard
   * deviations.
   */
  compare(day: SingleDay): readonly number[] {
    const [form, level] = [this.#form(day), this.#level()];
    this.#newest = [...this.#newest, { energy: day.energy, form, level }].slice(-LONGEST_RUN);
    this.#deviations = this.#newest.map((_, before) => {
      const run = this.#newest.slice(-1 - before);
      const known = run[0]?.level ?? level;
      return run.reduce((sum, seen) => sum + this.#deviation(seen.energy, seen.form * known), 0);
    });
    return this.#deviations.map((sum, at) => sum / Math.sqrt(this.#spread(at, form * level)));
  }

  /** Takes the day that was compared last for a usual one. */
  learn(day: SingleDay): void {
    const { energy, shape } = day;
    const form = this.#form(day);
    const expected = form * this.#level();
    // Of a day on which hardly anything is expected, the share says nothing.
    const weight = Math.min(1, shape / (TEACHING_SHARE * this.#mean || 1));
    const most = this.#mostOff(expected);
    const off = (level: number) => Math.max(-most, Math.min(most, energy / (form * level) - 1));
    const [surplus, ofSlow, ahead] = [off(this.#level()), off(this.#slow), this.#fast / this.#slow - 1];
    this.#learnSpreads(expected);
    const weekday = this.#weekdayOf(day.at);
    weekday.sum += weight * (surplus + weekday.sum / (weekday.days + USUAL_WEEKS));
    weekday.days += weight;
    this.#product += (weight / FOLLOWING_DAYS) * (ahead * ofSlow - this.#product);
    this.#square += (weight / FOLLOWING_DAYS) * (ahead ** 2 - this.#square);
    this.#fast *= 1 + weight * FAST_GAIN * off(this.#fast);
    this.#slow *= 1 + (weight / SLOW_DAYS) * ofSlow;
  }

  /** From now on this much, by the expectation of so far, is usual. */
  settle(factor: number): void {
    this.#slow = this.#fast = this.#level() * Math.max(factor, OFFSET_SHARE);
    this.interrupt();
  }

  #learnSpreads(expected: number): void {
    const large = this.#size(expected);
    this.#deviations.forEach((sum, at) => {
      const usual = this.#spread(at, expected);
      const spreads = this.#spreads[at] ?? [];
      const square = Math.min(sum ** 2, BAND ** 2 * usual) / CUT_SQUARE;
      [1 - large, large, 1].forEach((weight, which) => {
        const spread = spreads[which];
        if (!spread || weight === 0) return;
        spread.days += weight;
        spread.square +=
          weight * Math.max(1 / Math.max(1, spread.days), 1 / STRAYING_DAYS) * (square - spread.square);
      });
    });
  }

  /** The most that a day may be off and still teach all of it, as a share. */
  #mostOff(expected: number): number {
    const reach = BAND * this.#unit(expected) * Math.sqrt(this.#spread(0, expected));
    return (2 * this.#root(expected) * reach) / expected;
  }

  #level(): number {
    const follows = this.#square > 0 ? Math.max(0, Math.min(1, this.#product / this.#square)) : 0;
    return this.#slow + follows * (this.#fast - this.#slow);
  }

  #form({ at, shape }: SingleDay): number {
    const { sum, days } = this.#weekdayOf(at);
    return Math.max(shape, OFFSET_SHARE * this.#offset) * (1 + sum / (days + USUAL_WEEKS));
  }

  #weekdayOf(at: number): { sum: number; days: number } {
    return this.#weekdays[at % 7] as { sum: number; days: number };
  }

  #deviation(energy: number, expected: number): number {
    return (this.#root(energy) - this.#root(expected)) / this.#unit(expected);
  }

  /** Mean square of so many days together, less one, where this much is expected. */
  #spread(at: number, expected: number): number {
    const [small, large, all] = this.#spreads[at] as readonly [Spread, Spread, Spread];
    const of = ({ square, days }: Spread) => {
      const count = Math.min(days, STRAYING_DAYS);
      return (square * count + all.square * USUAL_STRAYS) / (count + USUAL_STRAYS);
    };
    const share = this.#size(expected);
    return Math.max((at + 1) * LEAST_SQUARE, (1 - share) * of(small) + share * of(large));
  }

  /** From 0 for a small day to 1 for a large one. */
  #size(expected: number): number {
    const [small, large] = this.#ends;
    return Math.max(0, Math.min(1, (this.#root(expected) - small) / Math.max(large - small, 1e-6)));
  }

  readonly #root = (energy: number): number => Math.sqrt(Math.max(0, energy) + this.#offset);
  /** Half the root: deviations of noise in proportion are that proportion. */
  readonly #unit = (expected: number): number => this.#root(expected) / 2;
}

// Years of an invented building that knows nothing of the methods it judges: weather, heat, readings, bills and faults, from a seed.
import { type Micro, toMicro } from '../../src/domain/amount.ts';
import type { Invoice } from '../../src/domain/invoice.ts';
import type { DayRecord } from '../../src/domain/ledger.ts';
import { addDays, addMonths, type Day, daysBetween, zone } from '../../src/domain/period.ts';
import { type Draw, drawFor } from '../../src/simulator/random.ts';

/** From the day on: no heat at all, no heating, 40 % more of it, 6 kWh a day more, or another household. */
export interface Event {
  readonly kind: 'stop' | 'heating' | 'more' | 'leak' | 'moved';
  readonly from: Day;
  readonly factor?: number;
}

interface BuildingOptions {
  readonly seed: number;
  readonly from?: Day;
  readonly days?: number;
  readonly climate?: 'dublin' | 'berlin';
  /** Outdoor mean (°C) at which the building needs no heating; drawn from 12 to 16. */
  readonly balance?: number;
  /** The register counts whole kWh; so do four or five of ten. */
  readonly wholeKwh?: boolean;
  /** Spells away in a year. */
  readonly holidays?: number;
  /** Chance that a day has no reading, and the next one carries it. */
  readonly carried?: number;
  /** Chance that five days of the same estimate begin, with what is true on the sixth. */
  readonly flat?: number;
  readonly events?: readonly Event[];
  /** kWh to which the thermostat is turned, or °C by which the sensor is wrong: from the day on. */
  readonly saved?: { readonly from: Day; readonly factor: number };
}

export const BILLINGS = [
  'nothing',
  'vat',
  'percent',
  'fee',
  'energyVat',
  'monthly',
  'wholeKwh',
  'vatMiddle',
  'estimated',
] as const;
export type Billing = (typeof BILLINGS)[number];

interface BillOptions {
  readonly kind: Billing;
  /** Months of a period; 0: four weeks. */
  readonly months?: 0 | 1 | 3;
  /** EUR too much, by the number of the bill (0: the oldest). */
  readonly wrong?: ReadonlyMap<number, number>;
  /** From this bill on there is another tax. */
  readonly changeAt?: number;
}

export interface TrueBill {
  readonly invoice: Invoice;
  readonly kind: 'correct' | 'wrong' | 'estimated' | 'correction' | 'straddles';
}

const CLIMATES = {
  dublin: { mean: 9.8, swing: 5.1, spread: 2.3, spell: 4 },
  berlin: { mean: 10, swing: 9.3, spread: 3.4, spell: 7 },
} as const;

export const DUBLIN = zone('Europe/Dublin');

interface Day_ {
  readonly day: Day;
  readonly temperature: number;
  readonly kwh: number;
  readonly eur: number;
  readonly standing: number;
}

export class Building {
  readonly from: Day;
  readonly truth: readonly Day_[];
  readonly temperatures: ReadonlyMap<Day, number>;
  readonly days: ReadonlyMap<Day, DayRecord>;
  /** Days on which a run of estimates is put right. */
  readonly trueUps: readonly Day[];
  readonly #draw: Draw;

  constructor(options: BuildingOptions) {
    const { seed, from = '2021-07-01', days = 1461 } = options;
    this.from = from;
    this.#draw = drawFor(seed, 1, 'bills');
    const temperatures = weather(options, from, days);
    this.truth = priced(options, from, temperatures, heat(options, from, temperatures));
    this.temperatures = new Map(this.truth.map(({ day, temperature }) => [day, temperature]));
    const { records, trueUps } = booked(options, this.truth);
    this.days = records;
    this.trueUps = trueUps;
  }

  until(newest: Day): ReadonlyMap<Day, DayRecord> {
    return new Map([...this.days].filter(([day]) => day <= newest));
  }

  used(from: Day, to: Day): number {
    return this.truth.filter(({ day }) => day >= from && day < to).reduce((sum, { kwh }) => sum + kwh, 0);
  }

  /** Oldest first. */
  bills({
    kind,
    months = 1,
    wrong = new Map(),
    changeAt = Number.POSITIVE_INFINITY,
  }: BillOptions): TrueBill[] {
    const draw = this.#draw;
    const [vat, later] = [pick(draw, 0.09, 0.135, 0.2, 0.23), pick(draw, 0.19, 0.05, 0.21)];
    const fee = Math.round(100 * (1 + 6 * draw())) / 100;
    const percent = Math.round(1000 * (-0.05 + 0.12 * draw())) / 1000 + 0.0002;
    const monthly = Math.round(100 * (10 + 15 * draw())) / 100;
    const bills: TrueBill[] = [];
    const end = addDays(this.from, this.truth.length);
    let owed = 0;
    for (let from = this.from; ; ) {
      const at = bills.length;
      const to = months === 0 ? addDays(from, 28) : addMonths(from, months);
      if (to > end) return bills;
      const within = this.truth.filter(({ day }) => day >= from && day < to);
      const kwh = within.reduce((sum, one) => sum + one.kwh, 0);
      let energy = within.reduce((sum, one) => sum + one.eur, 0);
      if (kind === 'wholeKwh') energy *= Math.round(kwh) / kwh;
      const standing = within.reduce((sum, one) => sum + one.standing, 0);
      const net = energy + standing;
      const tax = at >= changeAt ? later : vat;
      const beforeMarch = to > '2023-03-15' ? (vat + later) / 2 : vat;
      const middle = from >= '2023-03-01' ? later : beforeMarch;
      const totals: Record<Billing, number> = {
        nothing: at >= changeAt ? net * (1 + later) : net,
        vat: net * (1 + tax),
        percent: net * (1 + percent) * (at >= changeAt ? 1 + later : 1),
        fee: net * (1 + tax) + fee,
        energyVat: energy * (1 + tax) + standing,
        monthly: (energy + monthly * Math.max(1, months)) * (1 + tax),
        wholeKwh: net * (1 + tax),
        vatMiddle: net * (1 + middle),
        estimated: net * (1 + tax),
      };
      const isEstimated = kind === 'estimated' && owed === 0 && draw() < 0.2;
      const estimate = isEstimated ? Math.round(100 * (energy * (0.5 * draw() - 0.25)) * (1 + tax)) / 100 : 0;
      const extra = (wrong.get(at) ?? 0) + estimate;
      const total = Math.round(100 * totals[kind]) / 100 + extra - owed;
      const straddles = kind === 'vatMiddle' && middle !== vat && middle !== later;
      const unlessEstimated = owed === 0 ? 'correct' : 'correction';
      const which = isEstimated ? 'estimated' : unlessEstimated;
      const unlessWrong = straddles ? 'straddles' : which;
      bills.push({
        invoice: invoiceOf(`B${String(at + 1).padStart(3, '0')}`, from, to, toMicro(total)),
        kind: wrong.has(at) ? 'wrong' : unlessWrong,
      });
      owed = estimate;
      from = to;
    }
  }
}

export const invoiceOf = (
  id: string,
  from: Day,
  to: Day,
  total: Micro,
  more: Partial<Invoice> = {},
): Invoice => ({
  id,
  status: 'invoice',
  startAt: DUBLIN.startOf(from),
  endAt: DUBLIN.startOf(to),
  dueAt: DUBLIN.startOf(addDays(to, 14)),
  total,
  open: 0,
  ...more,
});

/** A yearly wave, weather that lasts for days, and two or three cold spells a winter. */
function weather({ seed, climate = 'dublin' }: BuildingOptions, from: Day, days: number): number[] {
  const { mean, swing, spread, spell } = CLIMATES[climate];
  const normal = normals(drawFor(seed, 0, 'weather of the building'));
  const draw = drawFor(seed, 0, 'spells');
  const cold = new Array<number>(days).fill(0);
  const phase = daysBetween(`${from.slice(0, 4)}-01-01`, from);
  const angle = (at: number) => (2 * Math.PI * (phase + at - 24)) / 365.25;
  for (let at = 0; at < days; at += 1) {
    if (Math.cos(angle(at)) < 0.4 || draw() > 0.02) continue;
    const [length, depth] = [4 + Math.floor(8 * draw()), spell * (0.5 + draw())];
    for (let day = 0; day < length && at + day < days; day += 1)
      cold[at + day] = Math.max(cold[at + day] ?? 0, depth * Math.min(1, (day + 1) / 2, (length - day) / 2));
  }
  let [slow, year] = [0, 0.6 * normal()];
  return cold.map((dip, at) => {
    if (at % 365 === 364) year = 0.6 * normal();
    slow = 0.78 * slow + Math.sqrt(1 - 0.78 ** 2) * spread * (1 + 0.2 * Math.cos(angle(at))) * normal();
    return Math.round(10 * (mean + year - swing * Math.cos(angle(at)) + slow - dip)) / 10;
  });
}

/** kWh of each day: what walls and windows lose, less sun and people; hot water; what people do; and what fails. */
function heat(options: BuildingOptions, from: Day, temperatures: readonly number[]) {
  const { seed, balance: given, holidays = 3, events = [], saved } = options;
  const draw = drawFor(seed, 0, 'the building');
  const normal = normals(drawFor(seed, 0, 'people'));
  const balance = given ?? 12 + 4 * draw();
  const loss = 0.8 + 1.8 * draw();
  const inertia = 0.3 + 0.35 * draw();
  const water = 2.5 + 4.5 * draw();
  const [turnsDown, weekend] = [draw() < 0.7, 1 + 0.4 * draw()];
  const days = temperatures.length;
  const away = new Set<Day>();
  for (let spell = 0; spell < Math.round((holidays * days) / 365); spell += 1) {
    const start = Math.floor(draw() * days);
    for (let day = 0; day < 5 + Math.floor(9 * draw()); day += 1) away.add(addDays(from, start + day));
  }
  let [felt, habit] = [temperatures[0] ?? 10, 0];
  let mean3 = felt;
  return temperatures.map((temperature, at) => {
    const day = addDays(from, at);
    felt = inertia * felt + (1 - inertia) * temperature;
    mean3 += (temperature - mean3) / 4;
    habit = 0.6 * habit + 0.8 * normal();
    const season = Math.sin((Math.PI * (Number(day.slice(5, 7)) - 1)) / 11);
    const sun = 2.5 * season * draw();
    const isSummer = day.slice(5) > '06-01' && day.slice(5) < '09-10' && mean3 > 12;
    const has = (kind: Event['kind']) => events.find((one) => one.kind === kind && day >= one.from);
    const isAway = away.has(day);
    let heating = isSummer ? 0 : loss * Math.max(0, balance - felt - sun);
    heating *= Math.exp(0.1 * habit + 0.05 * normal());
    if (isAway) heating *= turnsDown ? 0.55 : 0.95;
    if (saved && day >= saved.from) heating *= saved.factor;
    if (has('heating')) heating = 0;
    if (has('more')) heating *= 1.4;
    const isWeekend = new Date(`${day}T00:00:00Z`).getUTCDay() % 6 === 0;
    let taps = water * (isWeekend ? weekend : 1) * Math.exp(0.3 * normal() - 0.045);
    if (isAway) taps *= 0.1;
    if (has('leak')) taps += 6;
    const moved = has('moved')?.factor ?? 1;
    return has('stop') ? 0 : (heating + taps) * moved;
  });
}

/** What the register counts, and what that costs. */
function priced(
  { seed, wholeKwh }: BuildingOptions,
  from: Day,
  temperatures: readonly number[],
  used: readonly number[],
): Day_[] {
  const draw = drawFor(seed, 0, 'prices');
  const isWhole = wholeKwh ?? draw() < 0.45;
  const [rate, standing] = [0.09 + 0.11 * draw(), Math.round(1e4 * (0.3 + 0.7 * draw())) / 1e4];
  const raisedOn = addMonths(from, 6 + Math.floor(30 * draw()));
  let [counted, register] = [0, 0];
  return used.map((kwh, at) => {
    const day = addDays(from, at);
    counted += kwh;
    const shown = isWhole ? Math.floor(counted) : Math.round(counted * 1000) / 1000;
    const grown = Math.round(1000 * (shown - register)) / 1000;
    register = shown;
    const unit = Math.round(1e4 * rate * (day >= raisedOn ? 1.12 : 1)) / 1e4;
    return { day, temperature: temperatures[at] ?? 0, kwh: grown, eur: grown * unit, standing };
  });
}

/** What the provider tells. */
function booked({ seed, carried = 0, flat = 0 }: BuildingOptions, truth: readonly Day_[]) {
  const draw = drawFor(seed, 0, 'booking');
  const decimals = draw() < 0.5 ? 2 : 4;
  const records = new Map<Day, DayRecord>();
  const trueUps: Day[] = [];
  let waiting = { kwh: 0, eur: 0 };
  let [estimate, left] = [0, 0];
  truth.forEach(({ day, kwh, eur, standing }, at) => {
    waiting = { kwh: waiting.kwh + kwh, eur: waiting.eur + eur + standing };
    if (left === 0 && at > 7 && draw() < flat) {
      left = 6;
      estimate = Math.round(truth.slice(at - 7, at).reduce((sum, one) => sum + one.kwh, 0) / 7 + draw() * 2);
    }
    if (left > 0) left -= 1;
    if (left === 0 && draw() < carried) return;
    const unit = kwh > 0 ? eur / kwh : 0.12;
    const isEstimate = left > 0;
    const energy = isEstimate ? estimate : Math.max(0, waiting.kwh);
    const cost = isEstimate ? estimate * unit + standing : Math.max(0, waiting.eur);
    if (!isEstimate && records.get(addDays(day, -1))?.energy === toMicro(estimate) && estimate > 0)
      trueUps.push(day);
    records.set(day, {
      energy: toMicro(Number(energy.toFixed(3))),
      cost: toMicro(Number(cost.toFixed(decimals))),
      revision: 0,
      receivedAt: DUBLIN.startOf(addDays(day, 1)) + 6 * 3_600_000,
    });
    waiting = { kwh: waiting.kwh - energy, eur: waiting.eur - cost };
    if (!isEstimate) estimate = 0;
    if (Math.abs(waiting.eur) < 0.01) waiting = { kwh: waiting.kwh, eur: 0 };
  });
  return { records, trueUps };
}

const pick = <T>(draw: Draw, ...of: readonly T[]): T => of[Math.floor(draw() * of.length)] as T;

/** Standard normal: the sum of twelve draws less six. */
const normals = (draw: Draw) => () => Array.from({ length: 12 }, draw).reduce((sum, one) => sum + one, -6);

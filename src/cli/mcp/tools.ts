// The questions that an assistant may ask, and their answers: projections of what is published, without any text of the provider, any
// name, and any number of a customer, meter or invoice.
import * as z from 'zod';
import { chosenMonth } from '../../accounts/meter.ts';
import { knownUnits, sumKnown, toMicro } from '../../domain/amount.ts';
import { costAt } from '../../domain/insight/anotherTariff.ts';
import { billCheckRecord } from '../../domain/insight/billWords.ts';
import type { Forecast } from '../../domain/insight/forecast.ts';
import { invoiceRecord } from '../../domain/invoice.ts';
import type { Ledger } from '../../domain/ledger.ts';
import { addDays, DAY_SHAPE, type DaySpan, isDay } from '../../domain/period.ts';
import { periodSums } from '../../domain/totals.ts';
import { readParameters } from '../../mqtt/requests.ts';
import type { Fixed } from '../../publication/payloads/payloads.ts';
import { statementOf } from '../../publication/statement/statement.ts';
import { refusal } from '../command.ts';
import {
  billsAnswer,
  costAnswer,
  forecastAnswer,
  healthAnswer,
  statementAnswer,
  usageAnswer,
} from './answers.ts';
import type { NumberedAccount, NumberedMeter } from './disk.ts';
import type { Tool } from './protocol.ts';

type Read = () => Promise<readonly NumberedAccount[]>;

const MOST_PERIODS = 400;
const HIGHEST_PRICE = 1_000;
const A_DAY = 'a day of the calendar as YYYY-MM-DD';
const day = z.string(A_DAY).regex(DAY_SHAPE, A_DAY).refine(isDay, A_DAY);
const span = {
  from: day.describe('The first day, YYYY-MM-DD.'),
  to: day.describe('The last day, YYYY-MM-DD.'),
};
const A_PRICE = `0 to ${HIGHEST_PRICE}`;
const price = z.number(A_PRICE).min(0, A_PRICE).max(HIGHEST_PRICE, A_PRICE);
const A_MONTH = 'a month as YYYY-MM';
const meter = z
  .int('a number of a meter')
  .min(1, 'a number of a meter')
  .optional()
  .describe('One meter by its number; default: all.');

interface Question<T extends z.ZodRawShape, A extends z.ZodObject>
  extends Pick<Tool, 'name' | 'description'> {
  /** The arguments; each message says what is allowed. */
  readonly shape: T;
  readonly answer: A;
  /** Throws a Failure for arguments that are not allowed. */
  readonly reply: (
    accounts: readonly NumberedAccount[],
    given: z.infer<z.ZodObject<T>>,
  ) => { readonly sentence: string; readonly data: Fixed<z.input<A>> };
}

/** A tool, once it is known where it reads. */
type Readable = (read: Read) => Tool;

function tool<T extends z.ZodRawShape, A extends z.ZodObject>(question: Question<T, A>): Readable {
  const { name, description, shape, answer, reply } = question;
  const schema = z.strictObject(shape);
  return (read) => ({
    name,
    description,
    inputSchema: z.toJSONSchema(schema, { io: 'input' }),
    outputSchema: z.toJSONSchema(answer),
    async call(typed) {
      const given = readParameters(schema, typed) as z.infer<z.ZodObject<T>>;
      const { sentence, data } = reply(await read(), given);
      return { sentence, data: answer.parse(data, { jitless: true }) };
    },
  });
}

const refused = (mistake: string) => refusal('wrong_argument', `${mistake}.`);

/** Throws wrong_argument, or no_readings. */
function metersIn(accounts: readonly NumberedAccount[], wanted?: number): readonly NumberedMeter[] {
  const everyMeter = accounts.flatMap(({ meters }) => meters);
  const last = everyMeter.at(-1)?.number ?? 0;
  if (wanted !== undefined && last > 0 && wanted > last)
    throw refused(`meter: found ${wanted}; allowed: 1 to ${last}`);
  const meters = everyMeter.filter(({ number }) => wanted === undefined || number === wanted);
  if (meters.length > 0) return meters;
  throw refusal(
    'no_readings',
    'No whole history is on the disk yet.',
    'A running bridge writes it with its next poll.',
  );
}

function checkSpan({ from, to }: DaySpan): void {
  if (from > to) throw refused(`from: found ${from}; allowed: a day not after ${to}`);
}

/**
 * The part of the span that may have readings, `to` exclusive then; `null`: none has. For everything an assistant says 9999-12-31, and each
 * of those days would be looked at.
 */
function knownSpan(days: Ledger['days'], { from, to }: DaySpan): DaySpan | null {
  const known = [...days.keys()].sort();
  const [first, last] = [known[0], known.at(-1)];
  if (first === undefined || last === undefined || to < first || from > last) return null;
  return { from: from < first ? first : from, to: addDays(to > last ? last : to, 1) };
}

const usageTool = tool({
  name: 'usage',
  description:
    'Heat used (kWh) and what the provider charges for it, by day, week or month: the whole weeks and months that touch the span. Days without a reading are left out.',
  shape: {
    ...span,
    interval: z.enum(['day', 'week', 'month'], 'day, week, month').default('month'),
    meter,
  },
  answer: usageAnswer,
  reply(accounts, { from, to, interval, meter: wanted }) {
    checkSpan({ from, to });
    const meters = metersIn(accounts, wanted).map(({ number, view }) => {
      const periods = periodSums(view.tenancy, interval, Number.POSITIVE_INFINITY)
        .filter((period) => period.start <= to && period.end > from)
        .map((period) => ({
          from: period.start,
          to: addDays(period.end, -1),
          energy_kwh: knownUnits(period.energy),
          cost: knownUnits(period.cost),
        }));
      return { meter: number, currency: view.currency, periods };
    });
    const count = Math.max(...meters.map(({ periods }) => periods.length));
    if (count > MOST_PERIODS)
      throw refused(
        `interval: found ${interval}, ${count} periods; allowed: at most ${MOST_PERIODS}, so a longer interval or a shorter span`,
      );
    return { sentence: `Usage by ${interval} from ${from} to ${to}.`, data: { interval, meters } };
  },
});

const UNCHECKED = { verdict: null, sum_of_days: null, unexplained: null, sentence: null };

const billsTool = tool({
  name: 'bills',
  description:
    'The bills, newest first, each with the verdict of the bridge: whether it agrees with the days of its period, and what is not explained.',
  shape: {
    most: z
      .int('1 to 60')
      .min(1, '1 to 60')
      .max(60, '1 to 60')
      .default(12)
      .describe('So many of the newest.'),
  },
  answer: billsAnswer,
  reply(accounts, { most }) {
    const records = accounts.map(({ number, view }) => {
      const { invoices, checks, currency, zone } = view;
      const bills = (invoices?.all ?? []).slice(0, most).map((invoice, at) => {
        const check = checks.get(invoice.id);
        const verdict = check ? billCheckRecord(check, currency) : UNCHECKED;
        return { bill: at + 1, ...verdict, ...invoiceRecord(invoice, zone) };
      });
      return { account: number, currency, bills };
    });
    const count = records.flatMap(({ bills }) => bills).length;
    return {
      sentence: count === 1 ? 'One bill is known.' : `${count} bills are shown.`,
      data: { accounts: records },
    };
  },
});

const statementTool = tool({
  name: 'statement',
  description:
    'One complete month of each meter: use and cost, the month before and the year before, what the weather explains, prices, heating and hot water apart, days without a reading. Each value is null with a reason where it is not known.',
  shape: {
    month: z
      .string(A_MONTH)
      .regex(/^\d{4}-\d{2}$/, A_MONTH)
      .optional()
      .describe('YYYY-MM; default: the newest complete one.'),
    meter,
  },
  answer: statementAnswer,
  reply(accounts, { month, meter: wanted }) {
    const numbered = metersIn(accounts, wanted);
    const statements = numbered.map(({ number, meter, view, account }) => {
      const chosen = chosenMonth(meter.completeMonths(), month);
      return { ...asAnswered(statementOf(chosen, { meter: view, account })), meter: number };
    });
    return { sentence: 'Information, and not a bill.', data: { statements } };
  },
});

/** Quantities by the names that they have in all answers. */
function asAnswered(statement: ReturnType<typeof statementOf>) {
  const { energy, heating, hot_water, month_before, year_before } = statement;
  return {
    ...statement,
    energy_kwh: energy,
    heating_kwh: heating,
    hot_water_kwh: hot_water,
    month_before: { ...month_before, energy_kwh: month_before.energy },
    year_before: { ...year_before, energy_kwh: year_before.energy },
  };
}

const band = (forecast: Forecast | null | undefined) =>
  forecast
    ? {
        expected: knownUnits(forecast.amount),
        low: knownUnits(forecast.low),
        high: knownUnits(forecast.high),
      }
    : null;

const forecastTool = tool({
  name: 'forecast',
  description:
    'What the running month will come to, and the next bill, each with a band that holds 80 of 100; and the month so far.',
  shape: {},
  answer: forecastAnswer,
  reply(accounts) {
    metersIn(accounts);
    const records = accounts.map(({ number, view, meters }) => ({
      account: number,
      currency: view.currency,
      meters: meters.map((meter) => ({
        meter: meter.number,
        month_so_far: {
          energy_kwh: knownUnits(meter.view.totals.month.energy),
          cost: knownUnits(meter.view.totals.month.cost),
        },
        month: {
          energy_kwh: band(meter.view.monthForecast.energy),
          cost: band(meter.view.monthForecast.cost),
        },
      })),
      next_bill: view.nextBill && {
        from: view.nextBill.span.from,
        to: addDays(view.nextBill.span.to, -1),
        energy_kwh: band(view.nextBill.energy),
        amount: band(view.nextBill.cost),
      },
    }));
    return { sentence: 'Forecasts, not promises.', data: { accounts: records } };
  },
});

const costTool = tool({
  name: 'what_would_it_cost',
  description: 'What the days of a span would have cost by another tariff, beside what they did cost.',
  shape: {
    ...span,
    unit_rate: price.describe('Price of a kWh, in the currency of the meter.'),
    standing_charge: price.describe('Price of a day.'),
    meter,
  },
  answer: costAnswer,
  reply(accounts, { from, to, unit_rate, standing_charge, meter: wanted }) {
    checkSpan({ from, to });
    const prices = { unitRate: unit_rate, standingCharge: toMicro(standing_charge) };
    const meters = metersIn(accounts, wanted).map(({ number, view }) => {
      const { days } = view.tenancy;
      const read = [...days].filter(([day]) => day >= from && day <= to);
      const known = knownSpan(days, { from, to });
      return {
        meter: number,
        currency: view.currency,
        days_with_a_reading: read.length,
        did_cost: knownUnits(sumKnown(read.map(([, { cost }]) => cost))),
        would_cost: known && knownUnits(costAt(prices, days, known)),
      };
    });
    return { sentence: `By ${unit_rate} a kWh and ${standing_charge} a day.`, data: { meters } };
  },
});

const healthTool = tool({
  name: 'health',
  description:
    'How fresh the data is, and what is wrong, as the disk of the bridge knows it: the newest reading, the last polls, and how long ago that was.',
  shape: {},
  answer: healthAnswer,
  reply(accounts) {
    const records = accounts.map(({ number, account, view, meters }) => {
      const { lastPollAt, lastSuccessAt, failures, lastError } = account.journal.record;
      const { zone } = view;
      const instant = (at: number | null) => (at === null ? null : zone.iso(at));
      return {
        account: number,
        last_poll_at: instant(lastPollAt),
        last_good_poll_at: instant(lastSuccessAt),
        failures_in_a_row: failures,
        last_error: lastError?.code ?? null,
        meters: meters.map((meter) => ({
          meter: meter.number,
          newest_day: meter.view.totals.newestDay,
          reading_at: instant(meter.view.readingAt),
          late: meter.view.late,
          days_missing: meter.view.totals.missingDays,
          since: meter.view.tenancy.origin,
        })),
      };
    });
    return {
      sentence: 'As of the last write of the bridge; a running bridge writes with each poll.',
      data: { accounts: records },
    };
  },
});

export const toolsOf = (read: Read): readonly Tool[] =>
  [usageTool, billsTool, statementTool, forecastTool, costTool, healthTool].map((readable) => readable(read));

// A bar of the chart in words: its readout, and its row in the table.
import type { ComponentChildren } from 'preact';
import type { Bar, Interval, What } from './bars.ts';
import { type History, numberOf, store, textOf } from './store.ts';
import { joined, say, write } from './words.ts';

export interface View {
  readonly meter: string;
  readonly history: History;
  /** The first day that is shown, and the newest one with a reading. */
  readonly first: string;
  readonly newest: string;
  readonly interval: Interval;
  readonly what: What;
}

export type Shown = ReturnType<typeof shownIn>;

/** `earlier` has the bars before it, of which days without a reading are named. */
export function shownIn({ meter, history, interval, what }: View, bar: Bar, earlier: readonly Bar[]) {
  const { from, to, days, missing, isRunning } = bar;
  const state = store.get('meter/<meter>/state', meter);
  const isMonth = interval === 'month' && from.endsWith('-01');
  const differing = state?.witness_differing_days;
  const isDiffering = interval === 'day' && Array.isArray(differing) && differing.includes(from);
  const span = interval === 'day' ? write('short', from) : `${write('tick', from)} – ${write('tick', to)}`;
  const period = isMonth ? write('month', from) : span;
  const valueBefore = bar.before[what];
  const amountBefore = amountWords(what, history, valueBefore);
  const notes = joined([
    isRunning && say('chart.soFar'),
    missing > 0 && say(days === 1 ? 'chart.noReading' : 'chart.missing', { missing, days }),
    interval === 'day' && bar.kwh !== null && carriedWords(earlier),
    bar.isCorrected && say('chart.corrected'),
    isDiffering && say('chart.differs'),
  ]);
  const statement = isMonth && statementLink(meter, from.slice(0, 7));
  const forecastKey = what === 'kwh' ? 'energy_month_forecast' : 'cost_month_forecast';
  return {
    ...bar,
    value: bar[what],
    valueBefore,
    forecast: isRunning && interval === 'month' ? numberOf(state, forecastKey) : null,
    /** The meter itself says something else of that day. */
    isDiffering,
    amount: amountWords(what, history, bar[what]),
    about: joined(
      [period, valueBefore !== null && say('chart.before', { amount: amountBefore }), notes],
      ' · ',
    ),
    statement,
    cells: [
      period,
      write('kWh', bar.kwh),
      write('money', bar.cost, history.currency),
      amountBefore,
      [notes, ' ', statement],
    ],
  };
}

export const amountWords = (what: What, { currency }: History, value: number | null): string =>
  write(what === 'kwh' ? 'kWh' : 'money', value, currency);

/** The days without a reading right before a day: its own reading is the first that shows their heat. */
function carriedWords(before: readonly Bar[]): string | null {
  const gap = before.slice(before.findLastIndex(({ kwh }) => kwh !== null) + 1);
  const [first, last] = [gap[0], gap.at(-1)];
  if (first === undefined || last === undefined) return null;
  const span = [first.from, ...(first === last ? [] : [last.to])];
  return say('chart.withGap', { period: span.map((day) => write('short', day)).join(' – ') });
}

/** Only a month that is complete has a statement. `month`: `2026-10`. */
export function statementLink(meter: string, month: string): ComponentChildren {
  const state = store.get('meter/<meter>/state', meter);
  const newest = textOf(state, 'statement_month') ?? '';
  if (month > newest || `${month}-01` < (textOf(state, 'history_since') ?? '')) return null;
  return (
    <a key={month} href={`statement?meter=${encodeURIComponent(meter)}&month=${month}`}>
      {say('bill.statement', { month })}
    </a>
  );
}

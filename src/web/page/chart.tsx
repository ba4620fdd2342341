// Use by day, week or month: what is chosen, in words, as bars, and the same figures as a table.
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { addDays } from '../../domain/period.ts';
import { type Bar, barsOf, INTERVALS, type Interval, sumOf, type What } from './bars.ts';
import { Legend, Picture, type Shown } from './picture.tsx';
import { type History, numberOf, store, textOf, today } from './store.ts';
import { Button, Choice, Table } from './widgets.tsx';
import { joined, say, write } from './words.ts';

interface View {
  readonly meter: string;
  /** With days. */
  readonly history: History;
  readonly interval: Interval;
  readonly what: What;
  /** So many windows back from the newest one. */
  readonly page: number;
}

export function Chart({ meter, history }: Pick<View, 'meter' | 'history'>) {
  const [interval, setInterval] = useState<Interval>('day');
  const [what, setWhat] = useState<What>('kwh');
  const [page, setPage] = useState(0);
  const [chosen, setChosen] = useState<number | null>(null);
  const sums = useSums({ meter, history, interval, page });
  const bars = sums.map((bar, index) =>
    shownIn({ meter, history, interval, what }, bar, sums.slice(0, index)),
  );
  const bar = bars[chosen ?? -1];
  const sum = sumOf(bars.map(({ value }) => value));
  const turn = (to: number, by = interval) => {
    setInterval(by);
    setPage(to);
    setChosen(null);
  };
  /** At the end it keeps the focus, which a disabled button would lose. */
  const turnTo = (name: 'earlier' | 'later', label: string, to: number, isEnd: boolean) => {
    const attributes = { label, 'aria-label': say(`chart.${name}`), 'aria-disabled': isEnd };
    return <Button {...attributes} onClick={() => isEnd || turn(to)} />;
  };
  return (
    <section aria-label={say('chart.title')}>
      <div class="row">
        <Choice name="chart.period" options={INTERVALS} value={interval} onChange={(by) => turn(0, by)} />
        <Choice name="chart.show" options={['kwh', 'cost']} value={what} onChange={setWhat} />
      </div>
      <div class="row readout">
        <p>
          <strong>{bar?.amount ?? amountWords(what, history, sum)}</strong> {bar?.about ?? wholeOf(bars)}{' '}
          {bar?.statement}
        </p>
        <span class="turn">
          {turnTo('earlier', '‹', page + 1, bars[0]?.from === history.origin)}
          {turnTo('later', '›', page - 1, page === 0)}
        </span>
      </div>
      <Picture {...{ bars, interval, chosen, setChosen }} />
      <Legend bars={bars} what={what} />
      <details>
        <summary>{say('chart.table')}</summary>
        <Table
          name={say('chart.figures')}
          head={(['period', 'kwh', 'cost', 'yearBefore', 'note'] as const).map((key) => say(`chart.${key}`))}
          rows={bars.map(({ from, cells }) => ({ key: from, cells })).reverse()}
        />
      </details>
    </section>
  );
}

const amountWords = (what: What, { currency }: History, value: number | null): string =>
  write(what === 'kwh' ? 'kWh' : 'money', value, currency);

/** Years of days are added up for them, and a chart is drawn again for each bar that is pointed at. */
function useSums({ meter, history, interval, page }: Omit<View, 'what'>): readonly Bar[] {
  const newest = history.days.at(-1)?.[0] ?? '';
  // The newest days may well come later; only what is more than a day late is a gap.
  const due = addDays(today(), -2);
  const last = newest > due ? newest : due;
  const usage = store.get('meter/<meter>/usage/<interval>', meter, interval);
  return useMemo(() => {
    const revised = usage?.buckets.filter(({ revision }) => revision > 0) ?? [];
    const corrected = new Set(revised.map(({ start }) => start.slice(0, 10)));
    return barsOf(history.days, { interval, first: history.origin, last, page }, corrected);
  }, [history, usage, interval, last, page]);
}

function shownIn(
  { meter, history, interval, what }: Omit<View, 'page'>,
  bar: Bar,
  earlier: readonly Bar[],
): Shown {
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

function wholeOf(bars: readonly Bar[]): string {
  const [first, last] = [bars[0]?.from, bars.at(-1)?.to];
  const isOneYear = first?.slice(0, 4) === last?.slice(0, 4);
  return `${write(isOneYear ? 'tick' : 'date', first)} – ${write('date', last)}`;
}

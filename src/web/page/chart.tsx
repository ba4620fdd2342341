// Use by day, week or month: what is chosen, in words, as bars, and the same figures as a table.
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { addDays, intervalStart } from '../../domain/period.ts';
import { type Bar, barsOf, INTERVALS, type Interval, SHOWN, sumOf, type What } from './bars.ts';
import { Picture, type Shown } from './picture.tsx';
import { type History, listOf, numberOf, type State, store, textOf, today, type Usage } from './store.ts';
import { Button, Choice, Table } from './widgets.tsx';
import { joined, say, write } from './words.ts';

/** `history`: of the meter, with days. */
export function Chart({ meter, history }: { meter: string; history: History }) {
  const [interval, setInterval] = useState<Interval>('day');
  const [what, setWhat] = useState<What>('kwh');
  const [page, setPage] = useState(0);
  const [chosen, setChosen] = useState<number | null>(null);
  const usage = store.get<Usage>(`meter/${meter}/usage/${interval}`);
  // The newest days may well come later; only what is more than a day late is a gap.
  const last = [history.days.at(-1)?.[0] ?? history.origin, addDays(today(), -2)].sort()[1] ?? today();
  const found = useMemo(() => {
    const revised = usage?.buckets.filter(({ revision }) => revision > 0) ?? [];
    const corrected = new Set(revised.map(({ start }) => start.slice(0, 10)));
    return barsOf(history.days, { interval, first: history.origin, last, page }, corrected);
  }, [history, usage, interval, last, page]);
  const amount = (value: number | null) => write(what === 'kwh' ? 'kWh' : 'money', value, history.currency);
  const state = store.get<State>(`meter/${meter}/state`);
  const differing = interval === 'day' ? listOf(state, 'witness_differing_days') : [];
  const monthForecast =
    interval === 'month' ? numberOf(state, `${what === 'kwh' ? 'energy' : 'cost'}_month_forecast`) : null;
  const bars = found.map((bar, at): Shown => {
    const { from, to, days, missing, isRunning } = bar;
    const isMonth = interval === 'month' && from.endsWith('-01');
    const span = isMonth ? write('month', from) : `${write('tick', from)} – ${write('tick', to)}`;
    const period = interval === 'day' ? write('short', from) : span;
    const gap = days === 1 ? say('chart.noReading') : say('chart.missing', { missing, days });
    const corrected = bar.isCorrected && say('chart.corrected');
    const carried = interval === 'day' && bar.kwh !== null && carriedWords(found.slice(0, at));
    const isDiffering = differing.includes(from);
    const differs = isDiffering && say('chart.differs');
    const notes = joined([isRunning && say('chart.soFar'), missing > 0 && gap, carried, corrected, differs]);
    const valueBefore = bar.before[what];
    const before = valueBefore !== null && say('chart.before', { amount: amount(valueBefore) });
    return {
      ...bar,
      value: bar[what],
      valueBefore,
      period,
      notes,
      isDiffering,
      forecast: isRunning && page === 0 ? monthForecast : null,
      about: joined([period, before, notes], ' · '),
      statement: isMonth && statementLink(meter, from.slice(0, 7)),
    };
  });
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
  const isOldest = intervalStart(interval, last, 1 - SHOWN[interval] * (page + 1)) <= history.origin;
  const bar = chosen === null ? undefined : bars[chosen];
  return (
    <section aria-label={say('chart.title')}>
      <div class="row">
        <Choice name="chart.period" options={INTERVALS} value={interval} onChange={(by) => turn(0, by)} />
        <Choice name="chart.show" options={['kwh', 'cost']} value={what} onChange={setWhat} />
      </div>
      <div class="row readout">
        <p>
          <strong>{amount(bar ? bar.value : sumOf(bars.map(({ value }) => value)))}</strong>{' '}
          {bar ? bar.about : wholeOf(bars)} {bar?.statement}
        </p>
        <span class="turn">
          {turnTo('earlier', '‹', page + 1, isOldest)}
          {turnTo('later', '›', page - 1, page === 0)}
        </span>
      </div>
      <Picture {...{ bars, interval, chosen, setChosen, amount }} />
      <Legend {...{ bars, what }} />
      <details>
        <summary>{say('chart.table')}</summary>
        <Table
          name={say('chart.figures')}
          head={(['period', 'kwh', 'cost', 'yearBefore', 'note'] as const).map((one) => say(`chart.${one}`))}
          rows={[...bars].reverse().map((one) => {
            const note = [one.notes, ' ', one.statement];
            const figures = [write('kWh', one.kwh), write('money', one.cost, history.currency)];
            return { key: one.from, cells: [one.period, ...figures, amount(one.valueBefore), note] };
          })}
        />
      </details>
    </section>
  );
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
  const state = store.get<State>(`meter/${meter}/state`);
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

function Legend({ bars, what }: { bars: readonly Shown[]; what: What }) {
  const signs = {
    bar: say(`legend.${what}`),
    before: bars.some(({ valueBefore }) => valueBefore !== null) && say('legend.before'),
    forecast: bars.some(({ forecast }) => forecast !== null) && say('legend.forecast'),
    gap: bars.some(({ missing }) => missing > 0) && say('chart.noReading'),
    corrected: bars.some(({ isCorrected }) => isCorrected) && say('chart.corrected'),
    differs: bars.some(({ isDiffering }) => isDiffering) && say('chart.differs'),
  };
  const shown = Object.entries(signs).filter(([, words]) => words);
  return (
    <ul class="legend">
      {shown.map(([sign, words]) => (
        <li key={sign}>
          <i class={sign} />
          {words}
        </li>
      ))}
    </ul>
  );
}

// Use by day, week or month: what is chosen, in words, as bars, and the same figures as a table.
import { useMemo, useState } from 'preact/hooks';
import { addDays, intervalStart } from '../../domain/period.ts';
import { type Bar, barsOf, dayMap, type Interval, SHOWN, type What } from './bars.ts';
import { dayWords, kWh, money } from './format.ts';
import { Picture } from './picture.tsx';
import type { History, Usage } from './store.ts';
import { Choice, Table } from './widgets.tsx';

/** `usage`: of each interval, for what has been corrected. `today`: there where the meter is. `forecast`: of this month. */
export function Chart(props: {
  history: History;
  usage: (interval: Interval) => Usage | null;
  today: string;
  forecast: Record<What, number | null>;
}) {
  const { history, today } = props;
  const [interval, setInterval] = useState<Interval>('day');
  const [what, setWhat] = useState<What>('kwh');
  const [page, setPage] = useState(0);
  const [chosen, setChosen] = useState<number | null>(null);
  const usage = props.usage(interval);
  const days = useMemo(() => dayMap(history.days), [history]);
  // The newest days may well come later; only what is more than a day late is a gap.
  const last = [history.days.at(-1)?.[0] ?? history.origin, addDays(today, -2)].sort()[1] ?? today;
  const bars = useMemo(() => {
    const revised = usage?.buckets.filter(({ revision }) => revision > 0) ?? [];
    const corrected = new Set(revised.map(({ start }) => start.slice(0, 10)));
    return barsOf(days, { interval, first: history.origin, last, page }, corrected);
  }, [days, usage, interval, last, page, history.origin]);
  const turn = (to: number, by = interval) => {
    setInterval(by);
    setPage(to);
    setChosen(null);
  };
  const amount = (value: number | null) => (what === 'kwh' ? kWh(value) : money(value, history.currency));
  const isOldest = intervalStart(interval, last, 1 - SHOWN[interval] * (page + 1)) <= history.origin;
  const { big, small } = wordsOf(bars, chosen === null ? undefined : bars[chosen], interval, what);
  const forecast = interval === 'month' && page === 0 ? props.forecast[what] : null;
  return (
    <section aria-label="Use over time">
      <div class="row">
        <Choice
          name="Period"
          options={{ day: 'Days', week: 'Weeks', month: 'Months' }}
          value={interval}
          onChange={(by) => turn(0, by)}
        />
        <Choice name="Show" options={{ kwh: 'Energy', cost: 'Cost' }} value={what} onChange={setWhat} />
      </div>
      <div class="row readout">
        <p>
          <strong>{amount(big)}</strong> {small(amount)}
        </p>
        <span class="turn">
          <Turn name="Earlier" sign="‹" isEnd={isOldest} onClick={() => turn(page + 1)} />
          <Turn name="Later" sign="›" isEnd={page === 0} onClick={() => turn(page - 1)} />
        </span>
      </div>
      <Picture
        {...{ bars, interval, what, chosen, setChosen, forecast }}
        label={(bar) => `${amount(bar[what])}, ${wordsOf(bars, bar, interval, what).small(amount)}`}
      />
      <Legend {...{ bars, what, forecast }} />
      <details>
        <summary>As a table</summary>
        <Table
          name="Figures"
          head={['Period', 'Energy', 'Cost', 'A year before', 'Note']}
          rows={[...bars].reverse().map((bar) => ({
            key: bar.from,
            cells: [
              period(bar, interval),
              kWh(bar.kwh),
              money(bar.cost, history.currency),
              amount(bar.before[what]),
              notes(bar),
            ],
          }))}
        />
      </details>
    </section>
  );
}

/** At the end it keeps the focus, which a disabled button would lose. */
const Turn = (props: { name: string; sign: string; isEnd: boolean; onClick: () => void }) => (
  <button
    type="button"
    aria-label={props.name}
    aria-disabled={props.isEnd}
    onClick={() => props.isEnd || props.onClick()}
  >
    {props.sign}
  </button>
);

function period({ from, to }: Bar, interval: Interval): string {
  if (interval === 'day') return dayWords(from, 'short');
  if (interval === 'month' && from.endsWith('-01')) return dayWords(from, 'month');
  return `${dayWords(from, 'tick')} – ${dayWords(to, 'tick')}`;
}

function notes({ missing, days, isRunning, isCorrected }: Bar): string {
  const gap = days === 1 ? 'no reading' : `${missing} of ${days} days without a reading`;
  const all = [isRunning ? 'so far' : '', missing > 0 ? gap : '', isCorrected ? 'corrected' : ''];
  return all.filter((note) => note !== '').join(', ');
}

/** Of the chosen bar, else of all that are shown. */
function wordsOf(bars: readonly Bar[], bar: Bar | undefined, interval: Interval, what: What) {
  const known = (bar ? [bar] : bars).flatMap((one) => one[what] ?? []);
  const big = known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
  const [first, last] = [bars[0], bars.at(-1)];
  const isOneYear = first?.from.slice(0, 4) === last?.to.slice(0, 4);
  const whole = `${dayWords(first?.from, isOneYear ? 'tick' : 'date')} – ${dayWords(last?.to, 'date')}`;
  const small = (amount: (value: number | null) => string) => {
    if (!bar) return whole;
    const before = bar.before[what] === null ? '' : `${amount(bar.before[what])} a year before`;
    return [period(bar, interval), before, notes(bar)].filter((words) => words !== '').join(' · ');
  };
  return { big, small };
}

function Legend({ bars, what, forecast }: { bars: readonly Bar[]; what: What; forecast: number | null }) {
  const signs = [
    ['bar', what === 'kwh' ? 'energy in kWh' : 'cost, standing charge included', true],
    ['before', 'a year before', bars.some(({ before }) => before[what] !== null)],
    ['forecast', 'forecast', forecast !== null],
    ['gap', 'no reading', bars.some(({ missing }) => missing > 0)],
    ['corrected', 'corrected', bars.some(({ isCorrected }) => isCorrected)],
  ] as const;
  const shown = signs.filter(([, , isThere]) => isThere);
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

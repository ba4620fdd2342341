// Use by day, week or month: what is chosen, in words, as bars, and the same figures as a table.
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { addDays, intervalStart } from '../../domain/period.ts';
import { axis, type Bar, barsOf, dayMap, type Interval, SHOWN, type What } from './bars.ts';
import type { History, Usage } from './store.ts';
import { Choice, Table } from './widgets.tsx';
import { dayWords, energy, joined, kWh, money, say } from './words.ts';

/** `usage`: of each interval, for what has been corrected. `today`: there where the meter is. `forecast`: of this month. `statement`: its link, for a month that has one. */
export function Chart(props: {
  history: History;
  usage: (interval: Interval) => Usage | null;
  today: string;
  forecast: Record<What, number | null>;
  statement: (month: string) => ComponentChildren;
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
  const period = ({ from, to }: Bar) => {
    if (interval === 'day') return dayWords(from, 'short');
    if (interval === 'month' && from.endsWith('-01')) return dayWords(from, 'month');
    return `${dayWords(from, 'tick')} – ${dayWords(to, 'tick')}`;
  };
  const statementOf = ({ from }: Bar) =>
    interval === 'month' && from.endsWith('-01') ? props.statement(from.slice(0, 7)) : null;
  const about = (bar: Bar) => {
    const before = bar.before[what];
    return joined(
      [period(bar), before !== null && say('chart.before', { amount: amount(before) }), notesOn(bar)],
      ' · ',
    );
  };
  /** At the end it keeps the focus, which a disabled button would lose. */
  const turnTo = (name: 'earlier' | 'later', sign: string, to: number, isEnd: boolean) => (
    <button
      type="button"
      aria-label={say(`chart.${name}`)}
      aria-disabled={isEnd}
      onClick={() => isEnd || turn(to)}
    >
      {sign}
    </button>
  );
  const isOldest = intervalStart(interval, last, 1 - SHOWN[interval] * (page + 1)) <= history.origin;
  const forecast = interval === 'month' && page === 0 ? props.forecast[what] : null;
  const bar = chosen === null ? undefined : bars[chosen];
  return (
    <section aria-label={say('chart.title')}>
      <div class="row">
        <Choice
          name={say('chart.period')}
          options={(['day', 'week', 'month'] as const).map((one) => [one, say(`chart.${one}`)])}
          value={interval}
          onChange={(by) => turn(0, by)}
        />
        <Choice
          name={say('chart.show')}
          options={(['kwh', 'cost'] as const).map((one) => [one, say(`chart.${one}`)])}
          value={what}
          onChange={setWhat}
        />
      </div>
      <div class="row readout">
        <p>
          <strong>{amount(bar ? bar[what] : sumOf(bars, what))}</strong> {bar ? about(bar) : wholeOf(bars)}{' '}
          {bar && statementOf(bar)}
        </p>
        <span class="turn">
          {turnTo('earlier', '‹', page + 1, isOldest)}
          {turnTo('later', '›', page - 1, page === 0)}
        </span>
      </div>
      <Picture
        {...{ bars, interval, what, chosen, setChosen, forecast }}
        label={(one) => `${amount(one[what])}, ${about(one)}`}
      />
      <Legend {...{ bars, what, forecast }} />
      <details>
        <summary>{say('chart.table')}</summary>
        <Table
          name={say('chart.figures')}
          head={(['period', 'kwh', 'cost', 'yearBefore', 'note'] as const).map((one) => say(`chart.${one}`))}
          rows={[...bars].reverse().map((one) => ({
            key: one.from,
            cells: [
              period(one),
              kWh(one.kwh),
              money(one.cost, history.currency),
              amount(one.before[what]),
              <>
                {notesOn(one)} {statementOf(one)}
              </>,
            ],
          }))}
        />
      </details>
    </section>
  );
}

function notesOn({ missing, days, isRunning, isCorrected }: Bar): string {
  const gap = days === 1 ? say('chart.noReading') : say('chart.missing', { missing, days });
  return joined([isRunning && say('chart.soFar'), missing > 0 && gap, isCorrected && say('chart.corrected')]);
}

function sumOf(bars: readonly Bar[], what: What): number | null {
  const known = bars.flatMap((bar) => bar[what] ?? []);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
}

function wholeOf(bars: readonly Bar[]): string {
  const [first, last] = [bars[0]?.from, bars.at(-1)?.to];
  const isOneYear = first?.slice(0, 4) === last?.slice(0, 4);
  return `${dayWords(first, isOneYear ? 'tick' : 'date')} – ${dayWords(last, 'date')}`;
}

function Legend({ bars, what, forecast }: { bars: readonly Bar[]; what: What; forecast: number | null }) {
  const signs = [
    ['bar', say(`legend.${what}`), true],
    ['before', say('legend.before'), bars.some(({ before }) => before[what] !== null)],
    ['forecast', say('legend.forecast'), forecast !== null],
    ['gap', say('chart.noReading'), bars.some(({ missing }) => missing > 0)],
    ['corrected', say('chart.corrected'), bars.some(({ isCorrected }) => isCorrected)],
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

const HEIGHT = 190;
const LEFT = 34;
const TOP = 14;
const WIDEST_SLOT = 64;
// Shares of a slot.
const WIDE = 0.86;
const NARROW = 0.56;

/** The width of an element, and again whenever it changes. */
function useWidth() {
  const ref = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    if (ref.current) observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  return [ref, width] as const;
}

/** The year before faint behind, days without a reading hatched, a correction marked. `label`: a bar for those who cannot see it. */
function Picture(props: {
  bars: readonly Bar[];
  interval: Interval;
  what: What;
  chosen: number | null;
  setChosen: (index: number | null) => void;
  label: (bar: Bar) => string;
  forecast: number | null;
}) {
  const { bars, interval, what, chosen, setChosen } = props;
  const [ref, width] = useWidth();
  const forecastOf = (bar: Bar) => (interval === 'month' && bar.isRunning ? (props.forecast ?? 0) : 0);
  const heights = bars.flatMap((bar) => [bar[what] ?? 0, bar.before[what] ?? 0, forecastOf(bar)]);
  const { top, ticks } = axis(Math.max(0, ...heights));
  // A credit hangs below the line.
  const bottom = Math.min(0, ...heights);
  const slot = Math.min(WIDEST_SLOT, Math.max(0, width - LEFT) / Math.max(bars.length, 1));
  const y = (value: number) => TOP + (HEIGHT * (top - value)) / (top - bottom);
  const newest = bars.length - 1;
  const shown = bars[chosen ?? newest];
  const move = (to: number) => setChosen(Math.max(0, Math.min(newest, to)));
  const onPointer = (event: PointerEvent) => move(Math.floor((event.offsetX - LEFT) / slot));
  const onKey = (event: KeyboardEvent) => {
    const keys = {
      ArrowLeft: (chosen ?? newest + 1) - 1,
      ArrowRight: (chosen ?? -1) + 1,
      Home: 0,
      End: newest,
    };
    const to = keys[event.key as keyof typeof keys];
    if (to === undefined) return;
    event.preventDefault();
    move(to);
  };
  /** What stands below a bar: each Monday, the first week of each month, each month. */
  function tick({ from }: Bar, index: number) {
    const month = bars[index - 1]?.from.slice(0, 7) ?? from.slice(0, 7);
    const isNamed = {
      day: new Date(from).getUTCDay() === 1,
      week: month !== from.slice(0, 7),
      // Every other one where there is no room.
      month: slot >= 30 || index % 2 === 1 || bars.length <= 6,
    };
    // A label in the last slots would be cut off.
    const anchor = interval !== 'month' && index > bars.length - 3 ? 'end' : 'middle';
    return (
      isNamed[interval] && (
        <text class="tick" x={LEFT + slot * (index + 0.5)} y={HEIGHT + TOP + 17} text-anchor={anchor}>
          {dayWords(from, interval === 'day' ? 'tick' : 'monthTick')}
        </text>
      )
    );
  }
  function drawn(bar: Bar, index: number) {
    const rect = (kind: string, value: number, share: number, isHatched = false) => (
      <rect
        class={kind}
        rx={isHatched ? 0 : 2}
        x={LEFT + slot * (index + (1 - share) / 2)}
        width={slot * share}
        y={y(Math.max(0, value))}
        height={Math.abs(y(0) - y(value))}
        {...(isHatched && { fill: 'url(#hatch)' })}
      />
    );
    const { [what]: value, missing, days } = bar;
    const before = bar.before[what];
    const forecast = forecastOf(bar);
    return (
      <g key={bar.from} class={chosen === null || chosen === index ? '' : 'faded'}>
        {before !== null && rect('before', before, WIDE)}
        {forecast > 0 && rect('forecast', forecast, NARROW)}
        {value === null ? rect('gap', top, WIDE, true) : rect('bar', value, NARROW)}
        {value !== null && missing > 0 && rect('partly', (value * missing) / days, NARROW, true)}
        {bar.isCorrected && (
          <circle class="corrected" cx={LEFT + slot * (index + 0.5)} cy={y(value ?? 0) - 7} r="3" />
        )}
        {tick(bar, index)}
      </g>
    );
  }
  return (
    <div
      ref={ref}
      class="picture"
      role="slider"
      tabIndex={0}
      aria-label={say('chart.bars')}
      aria-valuemin={1}
      aria-valuemax={bars.length}
      aria-valuenow={(chosen ?? newest) + 1}
      aria-valuetext={shown && props.label(shown)}
      onKeyDown={onKey}
      onPointerMove={onPointer}
      onPointerDown={onPointer}
      // A finger leaves as soon as it has tapped.
      // A month stays chosen: its readout has a link.
      onPointerLeave={({ pointerType }) => pointerType === 'mouse' && interval !== 'month' && setChosen(null)}
    >
      <svg width={width} height={HEIGHT + TOP + 22} aria-hidden="true">
        <pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <line y2="6" class="hatch" />
        </pattern>
        {[0, ...ticks].map((value) => (
          <g key={value}>
            <line class="grid" x1={LEFT} x2={width} y1={y(value)} y2={y(value)} />
            <text class="tick" x={LEFT - 6} y={y(value) + 4} text-anchor="end">
              {top < 1 ? value : energy(value).replace(/[.,]0$/, '')}
            </text>
          </g>
        ))}
        {bars.map(drawn)}
      </svg>
    </div>
  );
}

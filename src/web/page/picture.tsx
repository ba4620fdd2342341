// The bars as a drawing: the year before faint behind, days without a reading hatched, a correction marked.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { axis, type Bar, type Interval, type What } from './bars.ts';
import { say, write } from './words.ts';

/** A bar of what is chosen, in words, and as a row of the table. */
export interface Shown extends Bar {
  readonly value: number | null;
  readonly valueBefore: number | null;
  readonly forecast: number | null;
  /** The meter itself says something else of that day. */
  readonly isDiffering: boolean;
  readonly amount: string;
  readonly about: string;
  readonly statement: ComponentChildren;
  readonly cells: readonly ComponentChildren[];
}

const HEIGHT = 190;
const LEFT = 34;
const TOP = 14;
const WIDEST_SLOT = 64;
// Shares of a slot.
const WIDE = 0.86;
const NARROW = 0.56;
// Narrower slots name every other month.
const SLOT_FOR_A_MONTH = 30;
const FEW_BARS = 6;

/** Pixels of the drawing. */
interface Scale {
  readonly width: number;
  readonly slot: number;
  /** The highest value. */
  readonly top: number;
  /** Values beside the lines. */
  readonly ticks: readonly number[];
  /** The middle of a bar. */
  readonly x: (index: number) => number;
  readonly y: (value: number) => number;
}

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

/** Each bar has words for those who cannot see it. */
export function Picture(props: {
  bars: readonly Shown[];
  interval: Interval;
  chosen: number | null;
  setChosen: (index: number | null) => void;
}) {
  const { bars, interval, chosen, setChosen } = props;
  const [ref, width] = useWidth();
  const newest = bars.length - 1;
  const shown = bars[chosen ?? newest];
  const scale = scaleOf(bars, width);
  const move = (to: number) => setChosen(Math.max(0, Math.min(newest, to)));
  const onPointer = (event: PointerEvent) => move(Math.floor((event.offsetX - LEFT) / scale.slot));
  const onKey = (event: KeyboardEvent) => {
    const left = (chosen ?? newest + 1) - 1;
    const right = (chosen ?? -1) + 1;
    const to = { ArrowLeft: left, ArrowRight: right, Home: 0, End: newest }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    move(to);
  };
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
      aria-valuetext={shown && `${shown.amount}, ${shown.about}`}
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
        <Grid {...scale} />
        {bars.map((bar, index) => (
          <g key={bar.from} class={chosen === null || chosen === index ? '' : 'faded'}>
            <Column bar={bar} index={index} scale={scale} />
            {isNamed(bars, index, interval, scale.slot) && (
              // In the last slots the name of a day or a week would be cut off.
              <text
                class="tick"
                x={scale.x(index)}
                y={HEIGHT + TOP + 17}
                text-anchor={interval !== 'month' && index > newest - 2 ? 'end' : 'middle'}
              >
                {write(interval === 'day' ? 'tick' : 'monthTick', bar.from)}
              </text>
            )}
          </g>
        ))}
      </svg>
    </div>
  );
}

function scaleOf(bars: readonly Shown[], width: number): Scale {
  const heights = bars.flatMap((bar) => [bar.value ?? 0, bar.valueBefore ?? 0, bar.forecast ?? 0]);
  const { top, ticks } = axis(Math.max(0, ...heights));
  // A credit hangs below the line.
  const bottom = Math.min(0, ...heights);
  const slot = Math.min(WIDEST_SLOT, Math.max(0, width - LEFT) / Math.max(bars.length, 1));
  const x = (index: number) => LEFT + slot * (index + 0.5);
  const y = (value: number) => TOP + (HEIGHT * (top - value)) / (top - bottom);
  return { width, slot, top, ticks, x, y };
}

const Grid = ({ width, top, ticks, y }: Scale) => (
  <>
    {[0, ...ticks].map((value) => (
      <g key={value}>
        <line class="grid" x1={LEFT} x2={width} y1={y(value)} y2={y(value)} />
        <text class="tick" x={LEFT - 6} y={y(value) + 4} text-anchor="end">
          {top < 1 ? value : write('energy', value).replace(/[.,]0$/, '')}
        </text>
      </g>
    ))}
  </>
);

function Column({ bar, index, scale }: { bar: Shown; index: number; scale: Scale }) {
  const { value, valueBefore, forecast, missing, days } = bar;
  const { slot, top, x, y } = scale;
  const rect = (kind: string, height: number, share: number) => (
    <rect
      class={kind}
      rx={2}
      x={LEFT + slot * (index + (1 - share) / 2)}
      width={slot * share}
      y={y(Math.max(0, height))}
      height={Math.abs(y(0) - y(height))}
    />
  );
  return (
    <>
      {valueBefore !== null && rect('before', valueBefore, WIDE)}
      {forecast !== null && forecast > 0 && rect('forecast', forecast, NARROW)}
      {value === null ? rect('gap', top, WIDE) : rect('bar', value, NARROW)}
      {value !== null && missing > 0 && rect('partly', (value * missing) / days, NARROW)}
      {bar.isCorrected && <circle class="corrected" cx={x(index)} cy={y(value ?? 0) - 7} r="3" />}
      {bar.isDiffering && <path class="differs" d={`M${x(index)} ${y(value ?? 0) - 17}l4 7h-8z`} />}
    </>
  );
}

/** Each Monday, the first week of each month, each month; every other month where there is no room. */
function isNamed(bars: readonly Bar[], index: number, interval: Interval, slot: number): boolean {
  const from = bars[index]?.from ?? '';
  const monthBefore = bars[index - 1]?.from.slice(0, 7) ?? from.slice(0, 7);
  const isBy = {
    day: new Date(from).getUTCDay() === 1,
    week: monthBefore !== from.slice(0, 7),
    month: slot >= SLOT_FOR_A_MONTH || index % 2 === 1 || bars.length <= FEW_BARS,
  };
  return isBy[interval];
}

export function Legend({ bars, what }: { bars: readonly Shown[]; what: What }) {
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

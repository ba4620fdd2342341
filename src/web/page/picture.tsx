// The bars themselves as SVG: the year before faint behind, days without a reading hatched, a correction marked.
import { useEffect, useRef, useState } from 'preact/hooks';
import { axis, type Bar, type Interval, type What } from './bars.ts';
import { dayWords, energy } from './format.ts';

const HEIGHT = 190;
const LEFT = 34;
const TOP = 14;
const WIDEST_SLOT = 64;

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

/** `label`: a bar in words, for those who cannot see it. `forecast`: of the running month. */
export function Picture(props: {
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
  const forecasts = (bar: Bar) => (interval === 'month' && bar.isRunning ? (props.forecast ?? 0) : 0);
  const heights = bars.flatMap((bar) => [bar[what] ?? 0, bar.before[what] ?? 0, forecasts(bar)]);
  const { top, ticks } = axis(Math.max(0, ...heights));
  // A credit hangs below the line.
  const bottom = Math.min(0, ...heights);
  const slot = Math.min(WIDEST_SLOT, Math.max(0, width - LEFT) / Math.max(bars.length, 1));
  const y = (value: number) => TOP + (HEIGHT * (top - value)) / (top - bottom);
  const rect = (index: number, value: number, share: number) => ({
    x: LEFT + slot * (index + (1 - share) / 2),
    width: slot * share,
    y: y(Math.max(0, value)),
    height: Math.abs(y(0) - y(value)),
  });
  const move = (to: number) => setChosen(Math.max(0, Math.min(bars.length - 1, to)));
  const onPointer = (event: PointerEvent) => move(Math.floor((event.offsetX - LEFT) / slot));
  const onKey = (event: KeyboardEvent) => {
    const last = bars.length - 1;
    const to = { ArrowLeft: (chosen ?? last + 1) - 1, ArrowRight: (chosen ?? -1) + 1, Home: 0, End: last }[
      event.key
    ];
    if (to === undefined) return;
    event.preventDefault();
    move(to);
  };
  const shown = bars[chosen ?? bars.length - 1];
  return (
    <div
      ref={ref}
      class="picture"
      role="slider"
      tabIndex={0}
      aria-label="Bars, oldest first"
      aria-valuemin={1}
      aria-valuemax={bars.length}
      aria-valuenow={(chosen ?? bars.length - 1) + 1}
      aria-valuetext={shown && props.label(shown)}
      onKeyDown={onKey}
      onPointerMove={onPointer}
      onPointerDown={onPointer}
      // A finger leaves as soon as it has tapped.
      onPointerLeave={({ pointerType }) => pointerType === 'mouse' && setChosen(null)}
    >
      <svg width={width} height={HEIGHT + TOP + 22} aria-hidden="true">
        <defs>
          <pattern
            id="hatch"
            width="6"
            height="6"
            patternUnits="userSpaceOnUse"
            patternTransform="rotate(45)"
          >
            <line y2="6" class="hatch" />
          </pattern>
        </defs>
        {[0, ...ticks].map((tick) => (
          <g key={tick}>
            <line class="grid" x1={LEFT} x2={width} y1={y(tick)} y2={y(tick)} />
            <text class="tick" x={LEFT - 6} y={y(tick) + 4} text-anchor="end">
              {top < 1 ? tick : energy(tick).replace(/[.,]0$/, '')}
            </text>
          </g>
        ))}
        {bars.map((bar, index) => (
          <g key={bar.from} class={chosen === null || chosen === index ? '' : 'faded'}>
            {bar.before[what] !== null && (
              <rect class="before" rx="2" {...rect(index, bar.before[what], 0.86)} />
            )}
            {forecasts(bar) > 0 && <rect class="forecast" rx="2" {...rect(index, forecasts(bar), 0.56)} />}
            {bar[what] === null ? (
              <rect class="gap" {...rect(index, top, 0.86)} fill="url(#hatch)" />
            ) : (
              <rect class="bar" rx="2" {...rect(index, bar[what], 0.56)} />
            )}
            {bar[what] !== null && bar.missing > 0 && (
              <rect
                {...rect(index, (bar[what] * bar.missing) / bar.days, 0.56)}
                class="partly"
                fill="url(#hatch)"
              />
            )}
            {bar.isCorrected && (
              <circle class="corrected" cx={LEFT + slot * (index + 0.5)} cy={y(bar[what] ?? 0) - 7} r="3" />
            )}
            <Tick {...{ bars, index, interval }} x={LEFT + slot * (index + 0.5)} isNarrow={slot < 30} />
          </g>
        ))}
      </svg>
    </div>
  );
}

/** What stands below a bar: each Monday, the first week of each month, each month. */
function Tick(props: {
  bars: readonly Bar[];
  index: number;
  interval: Interval;
  x: number;
  isNarrow: boolean;
}) {
  const { bars, index, interval, x, isNarrow } = props;
  const { from } = bars[index] ?? { from: '' };
  const month = bars[index - 1]?.from.slice(0, 7);
  const isFirst =
    interval === 'day' ? new Date(from).getUTCDay() === 1 : month !== undefined && month !== from.slice(0, 7);
  if (interval === 'month' ? isNarrow && index % 2 === 0 && bars.length > 6 : !isFirst) return null;
  // A label in the last slots would be cut off.
  const anchor = interval !== 'month' && index > bars.length - 3 ? 'end' : 'middle';
  return (
    <text class="tick" x={x} y={HEIGHT + TOP + 17} text-anchor={anchor}>
      {dayWords(from, interval === 'day' ? 'tick' : 'monthTick')}
    </text>
  );
}

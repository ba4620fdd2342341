// The bars as a drawing: the year before faint behind, days without a reading hatched, a correction marked.
import type { TargetedPointerEvent } from 'preact';
import { axis, type Bar, type Interval, type What } from './bars.ts';
import type { Shown } from './readout.tsx';
import { say, write } from './words.ts';

const WIDEST_SLOT_PX = 64;

/** Each bar has words for those who cannot see it. Where there is little room, the style leaves out every other month's name. */
export function Picture(props: {
  bars: readonly Shown[];
  interval: Interval;
  chosen: number | null;
  setChosen: (index: number | null) => void;
}) {
  const { bars, interval, chosen, setChosen } = props;
  const newest = bars.length - 1;
  const shown = bars[chosen ?? newest];
  const heights = bars.flatMap((bar) => [bar.value ?? 0, bar.valueBefore ?? 0, bar.forecast ?? 0]);
  const { top, ticks } = axis(Math.max(0, ...heights));
  // A credit hangs below the line.
  const bottom = Math.min(0, ...heights);
  const move = (to: number) => setChosen(Math.max(0, Math.min(newest, to)));
  const onPointer = ({ offsetX, currentTarget }: TargetedPointerEvent<HTMLElement>) =>
    move(Math.floor((offsetX / currentTarget.clientWidth) * bars.length));
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
      class="picture"
      style={`--bottom: ${bottom}; --span: ${top - bottom}`}
      role="slider"
      tabIndex={0}
      aria-label={say('chart.bars')}
      aria-valuemin={1}
      aria-valuemax={bars.length}
      aria-valuenow={(chosen ?? newest) + 1}
      aria-valuetext={shown && `${shown.amount}, ${shown.about}`}
      onKeyDown={onKey}
    >
      <div class="grid" aria-hidden="true">
        {[0, ...ticks].map((value) => (
          <span key={value} class="tick" style={`--value: ${value}`}>
            {top < 1 ? value : write('energy', value).replace(/[.,]0$/, '')}
          </span>
        ))}
      </div>
      <div
        class={`slots ${interval}`}
        style={`max-width: ${bars.length * WIDEST_SLOT_PX}px`}
        aria-hidden="true"
        onPointerMove={onPointer}
        onPointerDown={onPointer}
        // A finger leaves as soon as it has tapped.
        // A month stays chosen: its readout has a link.
        onPointerLeave={({ pointerType }) =>
          pointerType === 'mouse' && interval !== 'month' && setChosen(null)
        }
      >
        {bars.map((bar, index) => (
          <div key={bar.from} class={chosen === null || chosen === index ? '' : 'faded'}>
            <Column {...bar} />
            {isNamed(bar, bars[index - 1], interval) && (
              <span class="tick">{write(interval === 'day' ? 'tick' : 'monthTick', bar.from)}</span>
            )}
          </div>
        ))}
      </div>
    </div>
  );
}

/** The style knows where a value lies, and paints later ones over earlier ones. */
function Column({ value, valueBefore, forecast, missing, days, isCorrected, isDiffering }: Shown) {
  const values = {
    before: valueBefore,
    forecast: forecast !== null && forecast > 0 ? forecast : null,
    bar: value,
    gap: value === null ? 0 : null,
    partly: value !== null && missing > 0 ? (value * missing) / days : null,
    corrected: isCorrected ? (value ?? 0) : null,
    differs: isDiffering ? (value ?? 0) : null,
  };
  return Object.entries(values).map(
    ([kind, at]) => at !== null && <i key={kind} class={kind} style={`--value: ${at}`} />,
  );
}

/** Each Monday, the first week of each month, each month. */
function isNamed({ from }: Bar, before: Bar | undefined, interval: Interval): boolean {
  if (interval === 'day') return new Date(from).getUTCDay() === 1;
  return interval === 'month' || (before !== undefined && before.from.slice(0, 7) !== from.slice(0, 7));
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

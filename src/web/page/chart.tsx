// Use by day, week or month: what is chosen, in words, as bars, and the same figures as a table.
import { useMemo, useState } from 'preact/hooks';
import { addDays } from '../../domain/period.ts';
import { type Bar, barsOf, INTERVALS, type Interval, sumOf, type What } from './bars.ts';
import { Legend, Picture } from './picture.tsx';
import { amountWords, shownIn, type View } from './readout.tsx';
import { store, today } from './store.ts';
import { Button, Choice, Table } from './widgets.tsx';
import { say, write } from './words.ts';

export function Chart(props: Omit<View, 'interval' | 'what'>) {
  const { history, first } = props;
  const [interval, setInterval] = useState<Interval>('day');
  const [what, setWhat] = useState<What>('kwh');
  /** The chart shows the window so many steps back from the newest one. */
  const [page, setPage] = useState(0);
  const [chosen, setChosen] = useState<number | null>(null);
  const view = { ...props, interval, what };
  const sums = useSums(view, page);
  const bars = sums.map((bar, index) => shownIn(view, bar, sums.slice(0, index)));
  const bar = bars[chosen ?? -1];
  const sum = sumOf(bars.map(({ value }) => value));
  const turn = (to: number, by = interval) => {
    setInterval(by);
    setPage(to);
    setChosen(null);
  };
  /** A button at the end stays enabled, so that it keeps the focus. */
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
          {turnTo('earlier', '‹', page + 1, bars[0]?.from === first)}
          {turnTo('later', '›', page - 1, page === 0)}
        </span>
      </div>
      <Picture {...{ bars, interval, chosen, setChosen }} />
      <Legend bars={bars} what={what} />
      <details>
        <summary>{say('chart.table')}</summary>
        <Table
          name="chart.figures"
          head={['chart.period', 'chart.kwh', 'chart.cost', 'chart.yearBefore', 'chart.note']}
          rows={bars.map(({ from, cells }) => ({ key: from, cells })).reverse()}
        />
      </details>
    </section>
  );
}

/** Years of days are added up for them, and a chart is drawn again for each bar that is pointed at. */
function useSums({ meter, history, first, newest, interval }: View, page: number): readonly Bar[] {
  // The newest days may well come later; only what is more than a day late is a gap.
  const due = addDays(today(), -2);
  const last = newest > due ? newest : due;
  const usage = store.get('meter/<meter>/usage/<interval>', meter, interval);
  return useMemo(() => {
    const revised = usage?.buckets.filter(({ revision }) => revision > 0) ?? [];
    const corrected = new Set(revised.map(({ start }) => start.slice(0, 10)));
    return barsOf(history.days, { interval, first, last, page }, corrected);
  }, [history, usage, interval, first, last, page]);
}

function wholeOf(bars: readonly Bar[]): string {
  const [first, last] = [bars[0]?.from, bars.at(-1)?.to];
  const isOneYear = first?.slice(0, 4) === last?.slice(0, 4);
  return `${write(isOneYear ? 'tick' : 'date', first)} – ${write('date', last)}`;
}

// One meter: its newest day first, then month and year, the bars, and what else is known of it and its account. And a list of many.
import type { ComponentChildren } from 'preact';
import { addDays, daysOf } from '../../domain/period.ts';
import { type Bill, billWords, checkWords } from './bills.ts';
import { Chart } from './chart.tsx';
import { statementLink } from './readout.tsx';
import { type MeterInfo, nameOf, numberOf, type State, store, textOf, today } from './store.ts';
import { type Fact, Facts, late, Scroll, sentence, useSearch } from './widgets.tsx';
import { dayAgo, joined, type Key, say, sayCount, tell, write } from './words.ts';

export function Meter({ info }: { info: MeterInfo }) {
  const { meter } = info;
  const document = store.get('meter/<meter>/state', meter);
  const state = document ?? {};
  const history = store.get('meter/<meter>/history', meter);
  // Days before this one belong to another tenant.
  const first = textOf(state, 'history_since') ?? history?.origin ?? '';
  const newest = history?.days.at(-1)?.[0] ?? '';
  const day = textOf(state, 'day');
  const cost = (key: string) => write('money', state[`cost_${key}`], state.currency);
  const tile = (period: 'week' | 'month' | 'last_month' | 'year', more: ComponentChildren = '') => (
    <div>
      <h3>{say(`meter.${period}`)}</h3>
      <strong>{write('kWh', state[`energy_${period}`])}</strong> {cost(period)}
      <small>{more}</small>
    </div>
  );
  const forecast = tell('meter.forecastRange', state) ?? tell('meter.forecast', state);
  const read = tell('meter.read', state) ?? say('meter.readUnknown');
  const isLate = state.data_late === true;
  const ownToday = tell('meter.ownToday', state);
  return (
    <article class="card meter">
      <h2>{nameOf(info)}</h2>
      {day === null ? (
        sentence('meter.noReading', 'empty')
      ) : (
        <>
          <p class="when">
            <strong>{dayAgo(day, today())}</strong>, {write('long', day)}
          </p>
          <p class="newest">
            <span>
              {write('energy', state.energy_day)} <small>kWh</small>
            </span>
            <span class="cost">{cost('day')}</span>
          </p>
          <p class={isLate ? 'age late' : 'age'}>{isLate ? say('meter.late', { read }) : read}</p>
          <Expectation {...state} />
          {ownToday !== null && <p class="age">{ownToday}</p>}
          <div class="tiles">
            {tile('week')}
            {tile('month', joined([forecast, tell('meter.lastYear', state)]))}
            {tile('last_month', statementLink(meter, textOf(state, 'statement_month') ?? ''))}
            {tile('year')}
          </div>
        </>
      )}
      {history && newest >= first && <Chart key={meter} {...{ meter, history, first, newest }} />}
      {document && <Facts facts={factsOf(info, document)} />}
    </article>
  );
}

function Expectation(state: State) {
  const band = tell(state.energy_day_expected_by === 'weather' ? 'day.byWeather' : 'day.bySeason', state);
  if (state.unusual_use === true) {
    const unusual = say(state.unusual_use_direction === 'low' ? 'day.lessHeat' : 'day.moreHeat', state);
    return <p class="age late">{joined([unusual, tell('day.usual', { band })], ' ')}</p>;
  }
  const used = numberOf(state, 'energy_day');
  if (band === null || used === null) return null;
  const { energy_day_expected_low: low, energy_day_expected_high: high } = state;
  const isInside = used >= Number(low) && used <= Number(high);
  return sentence(isInside ? 'day.asExpected' : 'day.expected', 'age', { band });
}

type FactKey = { [K in Key]: K extends `fact.${infer Name}` ? Name : never }[Key];
/** A smaller one is not to be seen beside a price of three decimals. */
const SMALLEST_MARGIN = 0.000_5;
const FACTS_OF_ACCOUNT = ['toPay', 'newestBill', 'nextBill'];

function factsOf({ account: id }: MeterInfo, state: State): (Fact | null)[] {
  const account = store.get('account/<account>/state', id) ?? {};
  const { meters = [] } = store.get('bridge/info') ?? {};
  const isShared = meters.filter((other) => other.account === id).length > 1;
  /** Without the value `why` stands in its place; without either the fact is left out. */
  function fact(key: FactKey, value: string | null, why: string | null, ...notes: ComponentChildren[]) {
    const words = say(`fact.${key}`, state);
    const isOfAccount = isShared && FACTS_OF_ACCOUNT.includes(key);
    const name = isOfAccount ? say('fact.ofAccount', { fact: words, account: id }) : words;
    if (value === null) return why === null ? null : ([name, null, why] as const);
    return [name, value, ...notes] as const;
  }
  const notTold = say('fact.notTold');
  const hasDays = textOf(state, 'day') !== null;
  const [bill] = billsOf(id);
  const degreeDays = numberOf(state, 'degree_days_month');
  const cold = degreeDays === null ? null : sayCount('degreeDays', Math.round(degreeDays));
  const nextBillNote = joined([tell('fact.nextBillRange', account), tell('fact.nextBillOf', account)]);
  return [
    fact('total', hasDays ? say('fact.totalIs', state) : null, null),
    fact(
      'tariff',
      tell('fact.tariffRate', state),
      say('fact.tariffUnknown'),
      (numberOf(state, 'unit_rate_margin') ?? 0) >= SMALLEST_MARGIN &&
        `± ${write('price', state.unit_rate_margin, state.currency)} / kWh`,
    ),
    fact('toPay', tell('fact.toPayIs', account), notTold),
    fact(
      'newestBill',
      bill ? billWords(bill) : null,
      notTold,
      bill && say('fact.billNumber', bill),
      bill && checkOf(bill),
      account.invoice_overdue === true && late(say('fact.overdue')),
    ),
    fact('register', tell('fact.registerIs', state), notTold, grownWords(state, 'register')),
    fact(
      'witness',
      tell('fact.witnessIs', state),
      null,
      grownWords(state, 'witness'),
      tell('fact.witnessHeard', state),
    ),
    fact('missingDays', hasDays ? tell('fact.missingDaysIs', state) : null, null, missingWords(state)),
    fact('change', ...changeWords(state)),
    fact('degreeDays', cold, null, say('fact.colder')),
    fact('parts', tell('fact.partsAre', state), null, tell('fact.heatingRange', state)),
    fact('nextBill', tell('fact.nextBillIs', account), null, nextBillNote),
  ];
}

const MOST_MISSING = 3;

/** The days that have no reading, the newest first. */
function missingWords({ missing_day_list: gaps, missing_days: count }: State): string | null {
  if (!Array.isArray(gaps) || gaps.length === 0) return null;
  const days = gaps.slice(0, MOST_MISSING).flatMap((gap: string) => {
    const [from = '', to = from] = gap.split('..');
    return daysOf({ from, to: addDays(to, 1) }).reverse();
  });
  const newest = days.slice(0, MOST_MISSING).map((day) => write('date', day));
  return say('fact.missingAre', { days: joined([...newest, Number(count) > MOST_MISSING && '…'], '; ') });
}

/** The change against last year, and its band. */
function changeWords(state: State): [value: string | null, why: null, note?: string] {
  const adjusted = numberOf(state, 'weather_adjusted_change');
  if (adjusted === null) return [null, null];
  const change = (percent: number) =>
    say(percent < 0 ? 'change.less' : 'change.more', { percent: Math.abs(percent) });
  const ends = (['low', 'high'] as const).map((end) => numberOf(state, `weather_adjusted_change_${end}`));
  const [near, far] = ends.sort((a, b) => Math.abs(a ?? 0) - Math.abs(b ?? 0));
  const span = tell('change.of', state);
  if (near == null || far == null) return [change(adjusted), null, joined([span])];
  const mayBeNone = near * far < 0;
  const nearWords = mayBeNone ? change(near) : say('change.percent', { percent: Math.abs(near) });
  const between = say('change.between', { near: nearWords, far: change(far) });
  return [mayBeNone ? say('change.same') : change(adjusted), null, joined([between, span])];
}

/** The register and the days add up to the same, or differ by so much. */
function grownWords(state: State, whose: 'register' | 'witness'): ComponentChildren {
  const difference = numberOf(state, `${whose}_difference`);
  if (difference === null) return null;
  const missing = numberOf(state, `${whose}_difference_days_missing`) ?? 0;
  const isSame = Math.abs(difference) < 1;
  const moreOrLess = difference > 0 ? 'more' : 'less';
  const amount = Math.abs(difference);
  const sentence = say(`${whose}.${isSame ? 'same' : moreOrLess}`, { ...state, amount });
  const gaps = missing > 0 && sayCount('register.missing', missing);
  return late(joined([sentence, gaps], ' '), !isSame && missing === 0);
}

export function billsOf(account: string): readonly Bill[] {
  const { invoices = [], currency = '' } = store.get('account/<account>/invoices', account) ?? {};
  return invoices.map((invoice) => ({ ...invoice, currency }));
}

/** Red, where the bill differs. */
const checkOf = ({ check, currency }: Bill) =>
  check && late(checkWords(check, currency), check.verdict === 'differs');

export function Bills({ account, meter }: MeterInfo) {
  const facts = billsOf(account).map((bill): Fact => {
    const { period_start, period_end } = bill;
    const months = new Set([period_start, period_end].flatMap((day) => day?.slice(0, 7) ?? []));
    return [
      tell('bill.for', bill) ?? say('bill.of', bill),
      billWords(bill),
      checkOf(bill),
      ...[...months].map((month) => statementLink(meter, month)),
    ];
  });
  return (
    <Scroll name="bill.title">
      <Facts facts={facts} />
    </Scroll>
  );
}

// All of these are seen at a glance.
const MOST_UNSEARCHED = 6;

/** Many meters: a list with a search, of which one is shown. */
export function MeterList(props: {
  meters: readonly MeterInfo[];
  chosen: string;
  onChoose: (meter: string) => void;
}) {
  const { meters, chosen, onChoose } = props;
  const [search, isFound] = useSearch('list.search');
  const isSearched = meters.length > MOST_UNSEARCHED;
  const shown = meters.filter(
    (info) => !isSearched || isFound(`${nameOf(info)} ${info.account} ${info.identifiers.join(' ')}`),
  );
  const item = (info: MeterInfo) => {
    const { account, meter } = info;
    const state = store.get('meter/<meter>/state', meter) ?? {};
    return (
      <li key={meter}>
        <button type="button" aria-current={meter === chosen} onClick={() => onChoose(meter)}>
          <span>
            {nameOf(info)}
            <small>{state.data_late === true ? <b class="late">{say('list.late')}</b> : account}</small>
          </span>
          <span>
            {write('kWh', state.energy_month)}
            <small>{write('money', state.cost_month, state.currency)}</small>
          </span>
        </button>
      </li>
    );
  };
  return (
    <nav class="card list" aria-label={say('list.meters')}>
      <h2>{say('list.title', { count: meters.length })}</h2>
      {isSearched && search}
      <ul>{shown.map(item)}</ul>
      {shown.length === 0 && sentence('list.none', 'empty')}
    </nav>
  );
}

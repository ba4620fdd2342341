// One meter: its newest day first, then month and year, the bars, and what else is known of it and its account. And a list of many.
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { today } from './actions.tsx';
import { Chart } from './chart.tsx';
import {
  currencyOf,
  type History,
  type Info,
  type Invoices,
  type MeterInfo,
  nameOf,
  numberOf,
  type State,
  store,
  textOf,
} from './store.ts';
import { type Fact, Facts, has, late, Scroll, Search } from './widgets.tsx';
import { dayAgo, dayWords, energy, joined, kWh, money, say, sayCount, tell, withMoney } from './words.ts';

const withCurrency = (document: State | null, meter: string): State => ({
  ...document,
  currency: currencyOf(meter),
});

export function Meter({ info }: { info: MeterInfo }) {
  const topic = `meter/${info.meter}`;
  const state = withCurrency(store.get(`${topic}/state`), info.meter);
  const all = store.get<History>(`${topic}/history`);
  const since = textOf(state, 'history_since');
  const history = useMemo(() => all && historySince(all, since ?? all.origin), [all, since]);
  const value = (key: string) => numberOf(state, key);
  const euros = (key: string) => money(value(key), currencyOf(info.meter));
  const day = textOf(state, 'day');
  const tile = (period: 'week' | 'month' | 'last_month' | 'year', more = '') => (
    <div>
      <h3>{say(`meter.${period}`)}</h3>
      <strong>{kWh(value(`energy_${period}`))}</strong> {euros(`cost_${period}`)}
      <small>{more}</small>
    </div>
  );
  const forecast = tell('meter.forecastRange', state) ?? tell('meter.forecast', state);
  return (
    <article class="card meter">
      <h2>{nameOf(info)}</h2>
      {day === null ? (
        <p class="empty">{say('meter.noReading')}</p>
      ) : (
        <>
          <p class="when">
            <strong>{dayAgo(day, today())}</strong>, {dayWords(day, 'long')}
          </p>
          <p class="newest">
            <span>
              {energy(value('energy_day'))} <small>kWh</small>
            </span>
            <span class="cost">{euros('cost_day')}</span>
          </p>
          <Age state={state} />
          <Expectation state={state} />
          <div class="tiles">
            {tile('week')}
            {tile('month', joined([forecast, tell('meter.lastYear', state)]))}
            {tile('last_month')}
            {tile('year')}
          </div>
        </>
      )}
      {history && history.days.length > 0 && (
        <Chart
          key={topic}
          {...{ history, today: today() }}
          usage={(interval) => store.get(`${topic}/usage/${interval}`)}
          forecast={{ kwh: value('energy_month_forecast'), cost: value('cost_month_forecast') }}
          statement={(month) => statementLink(info.meter, month)}
        />
      )}
      {store.get(`${topic}/state`) && <Facts facts={factsOf(info, state)} />}
    </article>
  );
}

/** Only a month that is complete has a statement. `month`: `2026-10`. */
function statementLink(meter: string, month: string): ComponentChildren {
  const state = store.get<State>(`meter/${meter}/state`);
  const newest = textOf(state, 'statement_month') ?? '';
  if (month > newest || `${month}-01` < (textOf(state, 'history_since') ?? '')) return null;
  return (
    <a key={month} href={`statement?meter=${encodeURIComponent(meter)}&month=${month}`}>
      {say('bill.statement', { month })}
    </a>
  );
}

/** What was before belongs to another tenant. */
const historySince = (all: History, since: string): History =>
  since <= all.origin ? all : { ...all, origin: since, days: all.days.filter(([day]) => day >= since) };

const Age = ({ state }: { state: State }) =>
  state.data_late === true ? (
    <p class="age late">{tell('meter.readLate', state) ?? say('meter.readUnknownLate')}</p>
  ) : (
    <p class="age">{tell('meter.read', state) ?? say('meter.readUnknown')}</p>
  );

function Expectation({ state }: { state: State }) {
  const band = tell(state.energy_day_expected_by === 'weather' ? 'day.byWeather' : 'day.bySeason', state);
  if (state.unusual_use === true) {
    const unusual = say(state.unusual_use_direction === 'low' ? 'day.lessHeat' : 'day.moreHeat', state);
    return <p class="age late">{joined([unusual, tell('day.usual', { band })], ' ')}</p>;
  }
  const [used, low, high] = ['', '_expected_low', '_expected_high'].map((end) =>
    numberOf(state, `energy_day${end}`),
  );
  if (band === null || used == null) return null;
  const isInside = used >= Number(low) && used <= Number(high);
  return <p class="age">{say(isInside ? 'day.asExpected' : 'day.expected', { band })}</p>;
}

function factsOf(info: MeterInfo, state: State): (Fact | false)[] {
  const account = withCurrency(store.get(`account/${info.account}/state`), info.meter);
  const { meters = [] } = store.get<Info>('bridge/info') ?? {};
  const isShared = meters.filter((one) => one.account === info.account).length > 1;
  const ofAccount = (fact: string) =>
    isShared ? say('fact.ofAccount', { fact, account: info.account }) : fact;
  const fact = (name: string, value: string | null, why: string, note: ComponentChildren = null): Fact =>
    value === null ? [name, null, why] : [name, value, note];
  const degreeDays = numberOf(state, 'degree_days_month');
  const parts = tell('fact.partsAre', state);
  const nextBill = tell('fact.nextBillIs', account);
  const nextBillNote = joined([tell('fact.nextBillRange', account), tell('fact.nextBillOf', account)]);
  const notTold = say('fact.notTold');
  return [
    [say('fact.total', state), say('fact.totalIs', state)],
    fact(say('fact.tariff'), tell('fact.tariffRate', state), say('fact.tariffUnknown')),
    fact(ofAccount(say('fact.toPay')), tell('fact.toPayIs', account), notTold),
    newestBill(info, ofAccount(say('fact.newestBill'))),
    fact(say('fact.register'), tell('fact.registerIs', state), notTold, registerWords(state)),
    fact(say('fact.missingDays'), tell('fact.missingDaysIs', state), say('notKnown')),
    state.weather_adjusted_change != null && [say('fact.change'), ...changeWords(state)],
    degreeDays !== null && [
      say('fact.degreeDays'),
      sayCount('degreeDays', Math.round(degreeDays)),
      say('fact.colder'),
    ],
    parts !== null && [say('fact.parts'), parts, tell('fact.heatingRange', state)],
    nextBill !== null && [ofAccount(say('fact.nextBill')), nextBill, nextBillNote],
  ];
}

type Bill = Invoices['invoices'][number];

function billWords(bill: Bill, meter: string): string {
  const { amount_due: due, status } = bill;
  const isPaid = due === null ? status?.toLowerCase() === 'paid' : due <= 0;
  return joined([
    say('bill.amount', withCurrency(bill, meter)),
    say(isPaid ? 'bill.paid' : 'bill.due', bill),
  ]);
}

/** The months that its period begins and ends in. */
const monthsOf = ({ period_start, period_end }: Bill): string[] =>
  [...new Set([period_start, period_end])].flatMap((day) => day?.slice(0, 7) ?? []);

function newestBill({ account, meter }: MeterInfo, name: string): Fact {
  const [bill] = store.get<Invoices>(`account/${account}/invoices`)?.invoices ?? [];
  if (bill === undefined) return [name, null, say('fact.notTold')];
  const isOverdue = store.get<State>(`account/${account}/state`)?.invoice_overdue === true;
  return [
    name,
    billWords(bill, meter),
    say('fact.billNumber', bill),
    bill.check && withMoney(bill.check.sentence),
    isOverdue && late(say('fact.overdue')),
  ];
}

/** What has changed against last year, and between what and what. */
function changeWords(state: State): [string, string] {
  const [adjusted = null, low = null, high = null] = ['', '_low', '_high'].map((end) =>
    numberOf(state, `weather_adjusted_change${end}`),
  );
  const change = (percent: number) =>
    say(percent < 0 ? 'change.less' : 'change.more', { percent: Math.abs(percent) });
  const span = tell('change.of', state);
  if (low === null || high === null) return [change(adjusted ?? 0), joined([span])];
  const [near = 0, far = 0] = [low, high].sort((a, b) => Math.abs(a) - Math.abs(b));
  const isOpen = low < 0 && high > 0;
  const ends = {
    near: isOpen ? change(near) : say('change.percent', { percent: Math.abs(near) }),
    far: change(far),
  };
  return [isOpen ? say('change.same') : change(adjusted ?? 0), joined([say('change.between', ends), span])];
}

/** Whether the register has grown by what the days add up to. */
function registerWords(state: State): ComponentChildren {
  const difference = numberOf(state, 'register_difference');
  if (difference === null) return null;
  const missing = numberOf(state, 'register_difference_days_missing') ?? 0;
  const isSame = Math.abs(difference) < 1;
  const moreOrLess = difference > 0 ? 'register.more' : 'register.less';
  const sentence = say(isSame ? 'register.same' : moreOrLess, { ...state, amount: Math.abs(difference) });
  const gaps = missing > 0 && sayCount('register.missing', missing);
  return late(joined([sentence, gaps], ' '), !isSame && missing === 0);
}

export function Bills({ account, meter }: MeterInfo) {
  const all = store.get<Invoices>(`account/${account}/invoices`)?.invoices ?? [];
  const facts = all.map((bill): Fact => {
    const { check } = bill;
    return [
      tell('bill.for', bill) ?? say('bill.of', bill),
      billWords(bill, meter),
      check && late(withMoney(check.sentence), check.verdict === 'differs'),
      ...monthsOf(bill).map((month) => statementLink(meter, month)),
    ];
  });
  return (
    <Scroll name={say('bill.title')}>
      <Facts facts={facts} />
    </Scroll>
  );
}

/** Many meters: a list with a search, of which one is shown. */
export function MeterList(props: {
  meters: readonly MeterInfo[];
  chosen: string;
  onChoose: (meter: string) => void;
}) {
  const { meters, chosen, onChoose } = props;
  const [search, setSearch] = useState('');
  const found = meters.filter((info) =>
    has(`${nameOf(info)} ${info.account} ${info.identifiers.join(' ')}`, search),
  );
  return (
    <nav class="card list" aria-label={say('list.meters')}>
      <h2>{say('list.title', { count: meters.length })}</h2>
      <Search name={say('list.search')} onInput={setSearch} />
      <ul>
        {found.map((info) => {
          const state = store.get<State>(`meter/${info.meter}/state`);
          return (
            <li key={info.meter}>
              <button type="button" aria-current={info.meter === chosen} onClick={() => onChoose(info.meter)}>
                <span>
                  {nameOf(info)}
                  <small>
                    {state?.data_late === true ? <b class="late">{say('list.late')}</b> : info.account}
                  </small>
                </span>
                <span>
                  {kWh(numberOf(state, 'energy_month'))}
                  <small>{money(numberOf(state, 'cost_month'), currencyOf(info.meter))}</small>
                </span>
              </button>
            </li>
          );
        })}
      </ul>
      {found.length === 0 && <p class="empty">{say('list.none')}</p>}
    </nav>
  );
}

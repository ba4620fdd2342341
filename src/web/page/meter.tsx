// One meter: its newest day first, then month and year, the bars, and what else is known of it and its account.
import type { ComponentChildren } from 'preact';
import { Chart } from './chart.tsx';
import { ago, dayAgo, dayIn, dayWords, energy, kWh, money, timeWords } from './format.ts';
import type { History, Info, Invoices, State, Store } from './store.ts';
import { Fact } from './widgets.tsx';

export const numberOf = (state: State | null, key: string): number | null =>
  typeof state?.[key] === 'number' ? state[key] : null;
export const textOf = (state: State | null, key: string): string | null =>
  typeof state?.[key] === 'string' ? state[key] : null;

type MeterInfo = Info['meters'][number] & { readonly name?: string | null };

export const nameOf = ({ name, meter }: MeterInfo): string => name || `Meter ${meter}`;

/** What a meter's amounts are in; of a meter without any reading nothing is known. */
export const currencyOf = (store: Store, meter: string): string =>
  store.get<History>(`meter/${meter}/history`)?.currency ?? 'EUR';

export function Meter({ store, info, now }: { store: Store; info: MeterInfo; now: number }) {
  const topic = `meter/${info.meter}`;
  const state = store.get<State>(`${topic}/state`);
  const history = store.get<History>(`${topic}/history`);
  const today = dayIn(store.get<Info>('bridge/info')?.timezone ?? 'UTC', now);
  const currency = currencyOf(store, info.meter);
  const day = textOf(state, 'day');
  const readingAt = textOf(state, 'reading_at');
  const value = (key: string) => numberOf(state, key);
  return (
    <article class="card meter">
      <h2>{nameOf(info)}</h2>
      {day === null ? (
        <p class="empty">No reading yet. It is shown as soon as the whole history has been read.</p>
      ) : (
        <>
          <p class="when">
            <span class="relative">{dayAgo(day, today)}</span>, {dayWords(day, 'long')}
          </p>
          <p class="newest">
            <span>
              {energy(value('energy_day'))} <small>kWh</small>
            </span>
            <span class="cost">{money(value('cost_day'), currency)}</span>
          </p>
          <p class={state?.data_late === true ? 'age late' : 'age'}>
            {state?.data_late === true && <strong>Late. </strong>}
            {readingAt === null
              ? 'When it was read is not known'
              : `Read ${ago(readingAt, now)}, ${timeWords(readingAt, now)}`}
            {state?.unusual_use === true &&
              ` · unusual: about ${kWh(value('energy_day_expected'))} was to be expected`}
          </p>
          <div class="tiles">
            <Tile name="This week" {...{ state, currency }} period="week" />
            <Tile name="This month" {...{ state, currency }} period="month">
              {value('cost_month_forecast') !== null &&
                `about ${money(value('cost_month_forecast'), currency)} by its end`}
            </Tile>
            <Tile name="Last month" {...{ state, currency }} period="last_month" />
            <Tile name="This year" {...{ state, currency }} period="year" />
          </div>
        </>
      )}
      {history && history.days.length > 0 && (
        <Chart
          key={info.meter}
          history={history}
          usage={(interval) => store.get(`${topic}/usage/${interval}`)}
          today={today}
          forecast={{ kwh: value('energy_month_forecast'), cost: value('cost_month_forecast') }}
        />
      )}
      {state && <Facts {...{ store, info, state, currency }} />}
    </article>
  );
}

function Tile(props: {
  name: string;
  state: State | null;
  period: string;
  currency: string;
  children?: ComponentChildren;
}) {
  const { name, state, period, currency, children } = props;
  return (
    <div>
      <h3>{name}</h3>
      <p>
        <strong>{kWh(numberOf(state, `energy_${period}`))}</strong>{' '}
        <span>{money(numberOf(state, `cost_${period}`), currency)}</span>
      </p>
      <small>{children}</small>
    </div>
  );
}

function Facts({
  store,
  info,
  state,
  currency,
}: {
  store: Store;
  info: MeterInfo;
  state: State;
  currency: string;
}) {
  const account = store.get<State>(`account/${info.account}/state`);
  const [invoice] = store.get<Invoices>(`account/${info.account}/invoices`)?.invoices ?? [];
  const rate = numberOf(state, 'unit_rate');
  const balance = numberOf(account, 'balance_due');
  const register = numberOf(state, 'meter_reading');
  const missing = numberOf(state, 'missing_days');
  return (
    <dl class="facts">
      <Fact name={`Total since ${dayWords(textOf(state, 'origin'), 'date')}`}>
        {kWh(numberOf(state, 'energy_total'))}, {money(numberOf(state, 'cost_total'), currency)}
      </Fact>
      <Fact name="Tariff, worked out from the days" why="the days do not explain one yet">
        {rate !== null &&
          `${money(rate, currency, 3)} a kWh and ${money(numberOf(state, 'standing_charge'), currency)} a day`}
      </Fact>
      <Fact name="To be paid now" why="the provider does not tell">
        {balance !== null && money(balance, currency)}
      </Fact>
      <Fact name="Newest invoice" why="the provider does not tell">
        {invoice && (
          <>
            {money(invoice.amount, currency)}
            {invoice.due && `, due ${dayWords(invoice.due, 'date')}`} <small>No. {invoice.id}</small>
          </>
        )}
      </Fact>
      <Fact name="Register of the meter" why="the provider does not tell">
        {register !== null && kWh(register)}
      </Fact>
      <Fact name="Days without a reading">{missing}</Fact>
    </dl>
  );
}

// One meter: its newest day first, then month and year, the bars, and what else is known of it and its account.
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { Chart } from './chart.tsx';
import { ago, dayAgo, dayIn, dayWords, energy, kWh, money, paymentWords, timeWords } from './format.ts';
import { Expectation, InsightFacts, RegisterWords } from './insight.tsx';
import {
  currencyOf,
  type History,
  type Info,
  type Invoices,
  numberOf,
  type State,
  store,
  textOf,
} from './store.ts';
import { Fact } from './widgets.tsx';

export type MeterInfo = Info['meters'][number];

export const nameOf = ({ name, meter }: MeterInfo): string => name || `Meter ${meter}`;

/** Today, there where the meters are. */
export const today = (): string => dayIn(store.get<Info>('bridge/info')?.timezone ?? 'UTC', Date.now());

export function Meter({ info }: { info: MeterInfo }) {
  const topic = `meter/${info.meter}`;
  const state = store.get<State>(`${topic}/state`);
  const all = store.get<History>(`${topic}/history`);
  const since = textOf(state, 'history_since');
  const history = useMemo(() => all && historySince(all, since ?? all.origin), [all, since]);
  const value = (key: string) => numberOf(state, key);
  const euros = (key: string) => money(value(key), currencyOf(info.meter));
  const day = textOf(state, 'day');
  const tile = (name: string, period: string, more: ComponentChildren = null) => (
    <div>
      <h3>{name}</h3>
      <strong>{kWh(value(`energy_${period}`))}</strong> {euros(`cost_${period}`)}
      <small>{more}</small>
    </div>
  );
  const band =
    value('cost_month_forecast_low') === null
      ? ''
      : ` (${euros('cost_month_forecast_low')} to ${euros('cost_month_forecast_high')})`;
  const month = [
    value('cost_month_forecast') !== null && `about ${euros('cost_month_forecast')}${band} by its end`,
    value('cost_month_last_year') !== null && `last year ${euros('cost_month_last_year')}`,
  ];
  return (
    <article class="card meter">
      <h2>{nameOf(info)}</h2>
      {day === null ? (
        <p class="empty">There is no reading yet. It is shown once the whole history has been read.</p>
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
            {tile('This week', 'week')}
            {tile('This month', 'month', month.filter((words) => words !== false).join(', '))}
            {tile('Last month', 'last_month')}
            {tile('This year', 'year')}
          </div>
        </>
      )}
      {history && history.days.length > 0 && (
        <Chart
          key={topic}
          {...{ history, today: today() }}
          usage={(interval) => store.get(`${topic}/usage/${interval}`)}
          forecast={{ kwh: value('energy_month_forecast'), cost: value('cost_month_forecast') }}
        />
      )}
      {state && <Facts {...{ info, state, value, euros }} />}
    </article>
  );
}

/** What was before belongs to another tenant. */
const historySince = (all: History, since: string): History =>
  since <= all.origin ? all : { ...all, origin: since, days: all.days.filter(([day]) => day >= since) };

function Age({ state }: { state: State | null }) {
  const at = textOf(state, 'reading_at');
  const isLate = state?.data_late === true;
  return (
    <p class={isLate ? 'age late' : 'age'}>
      {isLate && 'Late: '}
      {at === null ? 'when it was read is not known' : `read ${ago(at)}, ${timeWords(at)}`}
    </p>
  );
}

function Facts(props: {
  info: MeterInfo;
  state: State;
  value: (key: string) => number | null;
  euros: (key: string) => string;
}) {
  const { info, state, value, euros } = props;
  const currency = currencyOf(info.meter);
  const account = store.get<State>(`account/${info.account}/state`);
  const [invoice] = store.get<Invoices>(`account/${info.account}/invoices`)?.invoices ?? [];
  const balance = numberOf(account, 'balance_due');
  const rate = value('unit_rate');
  const { meters = [] } = store.get<Info>('bridge/info') ?? {};
  const isShared = meters.filter((one) => one.account === info.account).length > 1;
  const ofAccount = isShared ? ` (of the account ${info.account})` : '';
  return (
    <dl class="facts">
      <Fact name={`Total since ${dayWords(textOf(state, 'origin'), 'date')}`}>
        {kWh(value('energy_total'))}, {euros('cost_total')}
      </Fact>
      <Fact name="Tariff, worked out from the days" why="the days do not explain one yet">
        {rate !== null && `${money(rate, currency, 3)} a kWh and ${euros('standing_charge')} a day`}
      </Fact>
      <Fact name={`To be paid now${ofAccount}`} why="the provider does not tell">
        {balance !== null && money(balance, currency)}
      </Fact>
      <Fact name={`Newest invoice${ofAccount}`} why="the provider does not tell">
        {invoice && `${money(invoice.amount, currency)}, ${paymentWords(invoice)}`}
        {invoice && <small>No. {invoice.id}</small>}
        {invoice?.check && <small>{invoice.check.sentence}</small>}
        {account?.invoice_overdue === true && <small class="late">A bill is overdue.</small>}
      </Fact>
      <Fact name="Register of the meter" why="the provider does not tell">
        {value('meter_reading') !== null && (
          <>
            {kWh(value('meter_reading'))} <RegisterWords state={state} />
          </>
        )}
      </Fact>
      <Fact name="Days without a reading">{value('missing_days')}</Fact>
      <InsightFacts {...{ state, account, ofAccount, currency }} />
    </dl>
  );
}

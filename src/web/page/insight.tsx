// What the readings mean, in words: the newest day and what was expected of it, last year, the register, and the bills. What is not known is left out.
import { dayWords, kWh, money, number, paymentWords, plural } from './format.ts';
import { currencyOf, type Invoices, numberOf, type State, store, textOf } from './store.ts';
import { Fact, Scroll } from './widgets.tsx';

/** `9.1 to 14.2 kWh`; the unit is written once. */
const kWhBand = (low: number, high: number) => `${kWh(low).replace(/\D+$/, '')} to ${kWh(high)}`;
const span = (state: State | null, key: string) =>
  `${dayWords(textOf(state, `${key}_from`), 'date')} – ${dayWords(textOf(state, `${key}_to`), 'date')}`;

export function Expectation({ state }: { state: State | null }) {
  const [used, expected, low, high] = ['', '_expected', '_expected_low', '_expected_high'].map((end) =>
    numberOf(state, `energy_day${end}`),
  );
  if (used == null || expected == null || low == null || high == null) return null;
  const when = state?.energy_day_expected_by === 'weather' ? 'for such weather' : 'at this time of year';
  const band = `${kWhBand(low, high)} ${when}`;
  if (state?.unusual_use !== true) return <p class="age">As expected: {band}</p>;
  const isOutside = used < low || used > high;
  return (
    <p class="age late">
      {isOutside
        ? `Unusual: ${band} would be expected`
        : `Unusual for some days now: ${used > expected ? 'more' : 'less'} heat than is expected ${when}`}
    </p>
  );
}

/** `11 % less`. */
const change = (percent: number) => `${number(Math.abs(percent), 0)} % ${percent < 0 ? 'less' : 'more'}`;

export function InsightFacts({
  state,
  account,
  currency,
}: {
  state: State;
  account: State | null;
  currency: string;
}) {
  const value = (key: string) => numberOf(state, key);
  const [adjusted, low, high] = ['', '_low', '_high'].map((end) => value(`weather_adjusted_change${end}`));
  const degreeDays = value('degree_days_month');
  const bill = numberOf(account, 'invoice_forecast');
  const [billLow, billHigh] = ['low', 'high'].map((end) => numberOf(account, `invoice_forecast_${end}`));
  return (
    <>
      {adjusted != null && (
        <Fact name="Heat against last year, apart from the weather">
          {low != null && high != null && low < 0 && high > 0 ? 'About as much' : change(adjusted)}
          <small>
            {low != null && high != null && `between ${change(low)} and ${change(high)}, `}
            {span(state, 'weather_adjusted_change')}
          </small>
        </Fact>
      )}
      {degreeDays !== null && (
        <Fact name="How cold this month has been">
          {plural(Math.round(degreeDays), 'degree day', 'degree days')} <small>the colder, the more</small>
        </Fact>
      )}
      {bill !== null && (
        <Fact name="Next bill">
          about {money(bill, currency)}
          <small>
            {billLow != null &&
              billHigh != null &&
              `${money(billLow, currency)} to ${money(billHigh, currency)}, `}
            {span(account, 'invoice_forecast')}
          </small>
        </Fact>
      )}
    </>
  );
}

/** Below the register: whether it has grown by what the days add up to. */
export function RegisterWords({ state }: { state: State }) {
  const difference = numberOf(state, 'register_difference');
  if (difference === null) return null;
  const isSame = Math.abs(difference) < 1;
  const words = isSame ? 'as much' : `${kWh(Math.abs(difference))} ${difference > 0 ? 'more' : 'less'}`;
  return (
    <small class={isSame ? '' : 'late'}>
      It has grown by {words} {isSame ? 'as' : 'than'} its days add up to,{' '}
      {span(state, 'register_difference')}.
    </small>
  );
}

const periodWords = ({ period_start, period_end, issued }: Invoices['invoices'][number]): string =>
  period_start && period_end
    ? `${dayWords(period_start, 'date')} – ${dayWords(period_end, 'date')}`
    : `of ${dayWords(issued, 'date')}`;

export function Bills({ account, meter }: { account: string; meter: string }) {
  const all = store.get<Invoices>(`account/${account}/invoices`)?.invoices ?? [];
  const currency = currencyOf(meter);
  return (
    <Scroll name="Bills">
      <dl class="facts">
        {all.map((invoice) => (
          <Fact key={invoice.id} name={periodWords(invoice)}>
            {money(invoice.amount, currency)}, {paymentWords(invoice)}
            {invoice.check && <small>{invoice.check.sentence}</small>}
          </Fact>
        ))}
      </dl>
    </Scroll>
  );
}

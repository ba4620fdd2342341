// What the readings mean, in words: the newest day and what was expected of it, last year, the register, and the bills. What is not known is left out.
import { dayWords, kWh, money, number, paymentWords, plural } from './format.ts';
import { currencyOf, type Invoices, numberOf, type State, store, textOf } from './store.ts';
import { Fact, Scroll } from './widgets.tsx';

/** `9.1 to 14.2 kWh`; the unit is written once. */
const kWhBand = (low: number, high: number) => `${kWh(low).replace(/\D+$/, '')} to ${kWh(high)}`;
const span = (state: State | null, key: string, style: 'tick' | 'date' = 'tick') =>
  `${dayWords(textOf(state, `${key}_from`), style)} – ${dayWords(textOf(state, `${key}_to`), style)}`;

export function Expectation({ state }: { state: State | null }) {
  const [used, low, high] = ['', '_expected_low', '_expected_high'].map((end) =>
    numberOf(state, `energy_day${end}`),
  );
  const when = state?.energy_day_expected_by === 'weather' ? 'for such weather' : 'at this time of year';
  const band = low == null || high == null ? null : `${kWhBand(low, high)} ${when}`;
  if (state?.unusual_use === true) {
    const words = state.unusual_use_direction === 'low' ? 'less heat than usual' : 'more heat than usual';
    const since = `since ${dayWords(textOf(state, 'unusual_use_since'), 'short')}`;
    return (
      <p class="age late">
        Unusual: {words} {since}
        {band && ` (usual: ${band})`}
      </p>
    );
  }
  if (band === null || used == null) return null;
  const isInside = used >= Number(low) && used <= Number(high);
  return (
    <p class="age">
      {isInside ? 'as expected' : 'expected'}: {band}
    </p>
  );
}

/** `11 % less`. */
const change = (percent: number) => `${number(Math.abs(percent), 0)} % ${percent < 0 ? 'less' : 'more'}`;
/** `between 10 % and 21 % less`. */
function changeBand(low: number, high: number): string {
  const [near = 0, far = 0] = [low, high].sort((a, b) => Math.abs(a) - Math.abs(b));
  const first = low < 0 && high > 0 ? change(near) : `${number(Math.abs(near), 0)} %`;
  return `between ${first} and ${change(far)}, `;
}

/** `ofAccount`: says whose the bill is where an account has several meters. */
export function InsightFacts(props: {
  state: State;
  account: State | null;
  ofAccount: string;
  currency: string;
}) {
  const { state, account, ofAccount, currency } = props;
  const value = (key: string) => numberOf(state, key);
  const [adjusted, low, high] = ['', '_low', '_high'].map((end) => value(`weather_adjusted_change${end}`));
  const degreeDays = value('degree_days_month');
  const [heating = null, hotWater = null] = ['heating', 'hot_water'].map((part) =>
    value(`energy_month_${part}`),
  );
  const bill = numberOf(account, 'invoice_forecast');
  const [billLow, billHigh] = ['low', 'high'].map((end) => numberOf(account, `invoice_forecast_${end}`));
  return (
    <>
      {adjusted != null && (
        <Fact name="Heat against last year, apart from the weather">
          {low != null && high != null && low < 0 && high > 0 ? 'About as much' : change(adjusted)}{' '}
          <small>
            {low != null && high != null && changeBand(low, high)}
            {span(state, 'weather_adjusted_change')}
          </small>
        </Fact>
      )}
      {degreeDays !== null && (
        <Fact name="How cold this month has been">
          {plural(Math.round(degreeDays), 'degree day', 'degree days')} <small>the more, the colder</small>
        </Fact>
      )}
      {heating !== null && hotWater !== null && (
        <Fact name="This month's heat, estimated">
          about {kWh(heating)} heating, {kWh(hotWater)} hot water{' '}
          <small>
            heating {kWhBand(value('energy_month_heating_low') ?? 0, value('energy_month_heating_high') ?? 0)}
          </small>
        </Fact>
      )}
      {bill !== null && (
        <Fact name={`Next bill${ofAccount}`}>
          about {money(bill, currency)}{' '}
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
  const missing = numberOf(state, 'register_difference_days_missing') ?? 0;
  const isSame = Math.abs(difference) < 1;
  const words = `It has grown by ${kWh(Math.abs(difference))} ${difference > 0 ? 'more' : 'less'} than its days add up to`;
  return (
    <small class={isSame || missing > 0 ? '' : 'late'}>
      {isSame ? 'It agrees with its days' : words}, {span(state, 'register_difference', 'date')}
      {missing > 0 && `; ${plural(missing, 'of them has', 'of them have')} no reading`}.
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
            {invoice.check && (
              <small class={invoice.check.verdict === 'differs' ? 'late' : ''}>
                {invoice.check.sentence}
              </small>
            )}
          </Fact>
        ))}
      </dl>
    </Scroll>
  );
}

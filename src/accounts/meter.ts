// One property while the daemon runs: how a poll takes new readings into its ledger, and what there is to publish.
import { knownUnits, sumKnown } from '../domain/amount.ts';
import { judgeUse } from '../domain/insight/alarm.ts';
import { type Forecaster, type Forecasts, forecaster, forecastMonth } from '../domain/insight/forecast.ts';
import { checkRegister } from '../domain/insight/registerCheck.ts';
import { type House, openHouse, type Weather } from '../domain/insight/weather.ts';
import { type Ledger, markRead, merge, questions } from '../domain/ledger.ts';
import { addDays, type Day, type DaySpan, daysBetween, monthStart } from '../domain/period.ts';
import type { Property } from '../domain/reading.ts';
import { closingOf, DAYS_LOOKED_AT, isContradicted, type ReadingCloses } from '../domain/readingCloses.ts';
import type { Tariff } from '../domain/tariff/tariff.ts';
import { totals } from '../domain/totals.ts';
import type { Provider } from '../provider/provider.ts';
import { ProviderRefused } from '../provider/request.ts';
import type { Health } from '../publication/messages.ts';
import { completeMonths } from '../publication/statement/statement.ts';
import type { MeterView } from '../publication/views.ts';
import type { AccountContext, MeterEvent } from './context.ts';
import { lastAnswer } from './lastAnswer.ts';
import { LedgerBook } from './ledgerBook.ts';
import { configuredKey, configuredMeter, friendlyNameOf, ledgerFile } from './names.ts';

type Needs = Pick<
  AccountContext,
  'config' | 'zone' | 'state' | 'clock' | 'log' | 'changed' | 'outdoor' | 'witnessOf'
>;
/** What the account knows of the meter beside its usage. */
type FromAccount = (
  property: Property,
) => Pick<MeterView, 'currency' | 'register'> & { readonly lastSuccessAt: number | null };

export type Meter = Awaited<ReturnType<typeof openMeter>>;

const HOUR_MS = 3_600_000;
const DECISIONS = {
  same_day: 'a reading counts for the day on which it is taken',
  previous_day: 'readings are taken in the first hours of a day: each counts for the day before',
} as const;

/** `name`: of its series in topics. */
export async function openMeter(
  { account, property: found, name }: { account: string; property: Property; name: string },
  fromAccount: FromAccount,
  context: Needs,
) {
  const { config, zone, clock, changed, outdoor } = context;
  const { usage } = config;
  /** As it was discovered last: its meter may have been exchanged since. */
  let property = found;
  const { propertyCustomerId } = property;
  const nameNow = () => friendlyNameOf(config.meters, property, name);
  const friendlyName = nameNow();
  const log = context.log.child({ meter: name, ...(friendlyName === null ? {} : { called: friendlyName }) });
  const since = config.accounts.find(({ id }) => id === account)?.history_since;
  const store = await LedgerBook.open(ledgerFile(account, property), { ...context, log }, since);
  const memory = {
    figures: lastAnswer(figures),
    house: lastAnswer((days: Ledger['days'], weather: Weather | null) => weather && openHouse(days, weather)),
    forecast: lastAnswer((from: Day, to: Day, forecast: Forecaster) => forecast({ from, to })),
    checkRegister: lastAnswer(checkRegister),
    contradicted: lastAnswer((closes: ReadingCloses, readTimes: Ledger['readTimes']) =>
      isContradicted(closes, [...readTimes.values()], zone),
    ),
  };
  /** The provider does not understand the question. */
  let hoursAreRefused = false;
  const receipts = [...store.ledger.days.values()].map(({ receivedAt }) => receivedAt);
  let updatedAt = receipts.reduce<number | null>((newest, at) => Math.max(newest ?? 0, at), null);

  /** Reads what the provider has; `again`: those days instead of what is due. Rejects with the provider's failures. */
  async function poll(
    provider: Provider,
    signal: AbortSignal,
    again?: DaySpan,
  ): Promise<readonly MeterEvent['change'][]> {
    store.begin();
    const today = zone.dayAt(clock.now());
    if (isToDecide(today, again)) await decide(provider, today, signal);
    const { readingCloses } = store;
    const { origin } = store.ledger;
    const changes: MeterEvent['change'][] = [];
    for (const span of questions(store.ledger, today, usage.reread_days, again)) {
      const question = { propertyCustomerId, span, interval: 'day', zone, readingCloses, signal } as const;
      const buckets = await provider.usage(question);
      // The retained history has opened the ledger again meanwhile.
      if (store.ledger.origin !== origin || store.readingCloses !== readingCloses)
        return poll(provider, signal, again);
      const isFirstTime = !store.ledger.complete;
      const merged = merge(store.ledger, buckets, clock.now(), span);
      const news = await store.update(
        markRead(merged.ledger, span, today),
        isFirstTime ? [] : merged.changes,
      );
      updatedAt = clock.now();
      if (merged.quarantinedNow.length > 0)
        log.warn({ days: merged.quarantinedNow }, 'implausible readings quarantined');
      if (isFirstTime) {
        const kwh = knownUnits(sumKnown(buckets.map(({ energy }) => energy)));
        log.info({ from: span.from, to: addDays(span.to, -1), days: buckets.length, kwh }, 'history read');
        if (store.ledger.complete) tellHistory();
        changed(account);
      } else changes.push(...news);
    }
    if (!store.isUndecided) return changes;
    const newest = [...store.ledger.days.keys()].sort().at(-1);
    if (newest === undefined) return changes;
    // The first readings of a new meter, or of one that is silent now.
    await decide(provider, addDays(newest, 1), signal);
    return store.readingCloses === readingCloses ? changes : poll(provider, signal);
  }

  /** Before the first history, and when all of it is to be read again. */
  function isToDecide(today: Day, again?: DaySpan): boolean {
    const { isOpenToReadings, isUndecided, ledger } = store;
    const isOfEverything = again && ledger.complete && again.from <= ledger.origin && again.to > today;
    return isOpenToReadings && (isOfEverything || (isUndecided && ledger.readTo === ledger.origin));
  }

  /** Looks at when the readings up to the day were taken. Without any, nothing is decided. */
  async function decide(provider: Provider, last: Day, signal: AbortSignal): Promise<void> {
    const wasUndecided = store.isUndecided;
    const span = { from: addDays(last, 1 - DAYS_LOOKED_AT), to: addDays(last, 1) };
    const question = { propertyCustomerId, span, zone, signal };
    const asked = hoursAreRefused ? undefined : provider.readingHours?.(question);
    const hours = await Promise.resolve(asked ?? []).catch((err) => {
      if (!(err instanceof ProviderRefused) || err.status !== 400) throw err;
      hoursAreRefused = true;
      return [];
    });
    // The last readings of days tell less: whether others came before them is not known.
    const closes = closingOf(hours.length > 0 ? hours : [...store.ledger.readTimes.values()], zone);
    // The retained history has brought what was decided once.
    if (closes === null || (wasUndecided && !store.isUndecided)) return;
    log.info({ readingCloses: closes, from: span.from, to: last }, DECISIONS[closes]);
    if (closes !== store.readingCloses || store.isUndecided) await store.decide(closes);
  }

  function tellHistory(): void {
    const { ledger } = store;
    const { energy, cost } = totals(ledger, zone.dayAt(clock.now())).total;
    const { currency } = fromAccount(property);
    const sums = { days: ledger.days.size, kwh: knownUnits(energy), cost: knownUnits(cost), currency };
    log.info({ origin: ledger.origin, ...sums }, 'history complete');
  }

  function figuresNow() {
    const { saved, tenancy } = store;
    const house = memory.house(tenancy.days, outdoor.weather);
    return memory.figures(saved, tenancy, zone.dayAt(clock.now()), store.tariffOf(saved), house);
  }

  /** Part of the view. */
  function reading(): Pick<MeterView, 'meter' | 'readingAt' | 'late'> | null {
    const ledger = store.saved;
    if (!ledger.complete) return null;
    const { newestDay } = figuresNow().totals;
    const readingAt = newestDay === null ? null : readAt(ledger, newestDay);
    const late = readingAt === null ? null : clock.now() - readingAt > usage.late_after_hours * HOUR_MS;
    return { meter: name, readingAt, late };
  }

  /** What the provider does not tell is taken for the end of the day, but for nothing later than its arrival here. */
  function readAt({ days, readTimes }: Ledger, day: Day): number {
    const latest = Math.min(days.get(day)?.receivedAt ?? clock.now(), clock.now());
    return Math.min(readTimes.get(day) ?? zone.startOf(addDays(day, 1)), latest);
  }

  /** The months of which a statement can be had, newest first. */
  const months = () =>
    completeMonths(store.tenancy, { zone, now: clock.now(), lateAfterHours: usage.late_after_hours });

  /** Everything there is to publish; `null` until the history is complete. */
  function view(): MeterView | null {
    const newest = reading();
    if (newest === null) return null;
    const { readingCloses } = store;
    const { forecast: _forecast, ...sums } = figuresNow();
    const { ledger } = sums;
    const { lastSuccessAt, currency, register } = fromAccount(property);
    return {
      ...newest,
      ...sums,
      account,
      friendlyName: nameNow(),
      area: configuredMeter(config.meters, property, name)?.area_m2,
      identifiers: property.meterIdentifiers,
      zone,
      currency,
      register,
      registerCheck: register && memory.checkRegister(register, ledger, readingCloses, zone),
      witness: context.witnessOf?.(configuredKey(config.meters, property, name), ledger),
      statementMonth: months().next().value ?? null,
      readingCloses,
      updatedAt: Math.max(updatedAt ?? 0, lastSuccessAt ?? 0) || null,
    };
  }

  return {
    account,
    get property(): Property {
      return property;
    },
    /** The same property as it is now. */
    describe(now: Property): void {
      property = now;
    },
    name,
    get friendlyName(): string | null {
      return nameNow();
    },
    store,
    poll,
    view,
    reading,
    completeMonths: months,
    get ledger(): Ledger {
      return store.ledger;
    },
    /** The history is complete and saved: there is something to publish. */
    get isComplete(): boolean {
      return store.saved.complete;
    },
    /** The newest readings were taken at other hours than those it was decided by once. */
    get isContradicted(): boolean {
      return store.isOpenToReadings && memory.contradicted(store.readingCloses, store.saved.readTimes);
    },
    /** What other days than those of the month will come to. */
    forecastOver: ({ from, to }: DaySpan): Forecasts => memory.forecast(from, to, figuresNow().forecast),
    /** Days asked for so far, and in all, while the history is read for the first time; `null` once it is complete. */
    progress(): Health['progress'][number] | null {
      const { origin, readTo, complete } = store.ledger;
      if (complete) return null;
      const end = addDays(zone.dayAt(clock.now()), 1);
      const [read, total] = [daysBetween(origin, readTo), daysBetween(origin, end)];
      return { account, meter: name, days_read: read, days_total: total };
    },
  };
}

/** What is computed of the days. `tenancy`: those of them that are compared and forecast. */
function figures(ledger: Ledger, tenancy: Ledger, today: Day, tariff: Tariff | null, house: House | null) {
  const { days, origin } = tenancy;
  const known = { days, today, tariff };
  const forecast = forecaster(known);
  const month = { from: monthStart(today), to: addDays(today, 1) };
  const line = house?.lineBefore(today);
  return {
    ...{ ledger, tenancy, tariff, house },
    totals: totals(ledger, today, origin),
    forecast,
    monthForecast: forecastMonth(known, forecast),
    weatherChange: house?.newestChange() ?? null,
    degreeDaysMonth: house?.degreeDays(month, line) ?? null,
    heatParts: house?.split(month, line) ?? null,
    use: judgeUse(days, today, house?.temperatures ?? null, tariff),
  };
}

// One property while the daemon runs: how a poll takes new readings in, and what there is to publish of them.
import { knownUnits, sumKnown } from '../domain/amount.ts';
import type { Progress } from '../domain/health.ts';
import { judgeUse } from '../domain/insight/alarm.ts';
import {
  degreeDaysWithin,
  fitHouse,
  splitHeat,
  USUAL_BASE,
  type Weather,
} from '../domain/insight/degreeDays.ts';
import { type Forecasts, forecastMonth, forecastSpan, type Known } from '../domain/insight/forecast.ts';
import { checkRegister } from '../domain/insight/registerCheck.ts';
import { weatherChange } from '../domain/insight/weatherChange.ts';
import { weatherChanges } from '../domain/insight/weatherChanges.ts';
import { type Ledger, markRead, merge, questions } from '../domain/ledger.ts';
import { addDays, type Day, type DaySpan, daysBetween, monthStart, type Zone } from '../domain/period.ts';
import type { Property } from '../domain/reading.ts';
import { closingOf, DAYS_LOOKED_AT, isContradicted, type ReadingCloses } from '../domain/readingCloses.ts';
import type { Tariff } from '../domain/tariff/tariff.ts';
import { totals } from '../domain/totals.ts';
import type { Provider } from '../provider/provider.ts';
import { ProviderRefused } from '../provider/request.ts';
import { completeMonths } from '../publication/statement/statement.ts';
import type { MeterView } from '../publication/views.ts';
import type { AccountContext, MeterEvent } from './context.ts';
import { lastAnswer } from './lastAnswer.ts';
import { ledgerFile, type MeterLedger, openMeterLedger } from './meterLedger.ts';
import { friendlyNameOf } from './names.ts';

type Needs = Pick<AccountContext, 'config' | 'zone' | 'state' | 'clock' | 'log' | 'changed' | 'outdoor'>;
/** What the account knows of the meter beside its usage. */
type FromAccount = () => Pick<MeterView, 'currency' | 'register'> & { readonly lastSuccessAt: number | null };
const HOUR_MS = 3_600_000;
const DECISIONS = {
  same_day: 'a reading counts for the day on which it is taken',
  previous_day: 'readings are taken in the first hours of a day: each counts for the day before',
} as const;

export class Meter {
  readonly account: string;
  readonly property: Property;
  /** The name of its series in topics. */
  readonly name: string;
  readonly friendlyName: string | null;
  readonly store: MeterLedger;
  /** The account that has read it last. */
  readBy: string;
  readonly #needs: Needs;
  readonly #fromAccount: FromAccount;
  #updatedAt: number | null;
  readonly #totals = lastAnswer(totals);
  readonly #expected = lastAnswer(expected);
  readonly #compared = lastAnswer(compared);
  readonly #judged = lastAnswer(judgeUse);
  readonly #changes = weatherChanges();
  readonly #spanForecast = lastAnswer((from: Day, to: Day, known: Known) =>
    forecastSpan({ from, to }, known),
  );
  readonly #checkRegister = lastAnswer(checkRegister);
  readonly #contradicted = lastAnswer((closes: ReadingCloses, readTimes: Ledger['readTimes'], zone: Zone) =>
    isContradicted(closes, [...readTimes.values()], zone),
  );
  /** The provider does not understand the question. */
  #hoursAreRefused = false;

  static async open(
    identity: { readonly account: string; readonly property: Property; readonly name: string },
    fromAccount: FromAccount,
    context: Needs,
  ): Promise<Meter> {
    const called = friendlyNameOf(context.config.meters, identity.property, identity.name);
    const about = { meter: identity.name, ...(called === null ? {} : { called }) };
    const needs = { ...context, log: context.log.child(about) };
    const file = ledgerFile(identity.account, identity.property);
    const since = context.config.accounts.find(({ id }) => id === identity.account)?.history_since;
    return new Meter(identity, await openMeterLedger(file, needs, since), fromAccount, needs);
  }

  private constructor(
    { account, property, name }: { account: string; property: Property; name: string },
    store: MeterLedger,
    fromAccount: FromAccount,
    needs: Needs,
  ) {
    this.account = account;
    this.readBy = account;
    this.property = property;
    this.name = name;
    this.friendlyName = friendlyNameOf(needs.config.meters, property, name);
    this.store = store;
    this.#fromAccount = fromAccount;
    this.#needs = needs;
    const receipts = [...store.ledger.days.values()].map(({ receivedAt }) => receivedAt);
    this.#updatedAt = receipts.reduce<number | null>((newest, at) => Math.max(newest ?? 0, at), null);
  }

  get ledger(): Ledger {
    return this.store.ledger;
  }

  /** The history is complete and saved: there is something to publish. */
  get isComplete(): boolean {
    return this.store.saved.complete;
  }

  /** Reads what the provider has; `again`: those days instead of what is due. Rejects with the provider's failures. */
  async poll(
    provider: Provider,
    signal: AbortSignal,
    again?: DaySpan,
  ): Promise<readonly MeterEvent['change'][]> {
    const { config, zone, clock, log, changed } = this.#needs;
    const { usage } = config;
    const { store, property } = this;
    store.begin();
    const today = zone.dayAt(clock.now());
    if (this.#isToDecide(today, again)) await this.#decide(provider, today, signal);
    const { origin } = store.ledger;
    const { readingCloses } = store;
    const changes: MeterEvent['change'][] = [];
    for (const span of questions(store.ledger, today, usage.reread_days, again)) {
      const question = {
        propertyCustomerId: property.propertyCustomerId,
        span,
        interval: 'day',
        zone,
        readingCloses,
        signal,
      } as const;
      const buckets = await provider.usage(question);
      // The retained history has opened the ledger anew meanwhile.
      if (store.ledger.origin !== origin || store.readingCloses !== readingCloses)
        return this.poll(provider, signal, again);
      const isFirstTime = !store.ledger.complete;
      const merged = merge(store.ledger, buckets, clock.now(), span);
      const tariffChange = await store.update(markRead(merged.ledger, span, today));
      this.#updatedAt = clock.now();
      if (merged.quarantinedNow.length > 0)
        log.warn({ days: merged.quarantinedNow }, 'implausible readings quarantined');
      if (isFirstTime) {
        const kwh = knownUnits(sumKnown(buckets.map(({ energy }) => energy)));
        log.info({ from: span.from, to: addDays(span.to, -1), days: buckets.length, kwh }, 'history read');
        if (store.ledger.complete) this.#tellHistory();
        changed(this.account);
      } else changes.push(...merged.changes, ...(tariffChange ? [tariffChange] : []));
    }
    const newest = [...store.ledger.days.keys()].sort().at(-1);
    if (!store.isUndecided || newest === undefined) return changes;
    // The first readings of a new meter, or of one that is silent now.
    await this.#decide(provider, addDays(newest, 1), signal);
    return store.readingCloses === readingCloses ? changes : this.poll(provider, signal);
  }

  /** Before the first history, and when all of it is to be read again. */
  #isToDecide(today: Day, again?: DaySpan): boolean {
    const { isOpenToReadings, isUndecided, ledger } = this.store;
    const isOfEverything = again && ledger.complete && again.from <= ledger.origin && again.to > today;
    return isOpenToReadings && (isOfEverything || (isUndecided && ledger.readTo === ledger.origin));
  }

  /** Looks at when the readings up to the day were taken. Without any, nothing is decided. */
  async #decide(provider: Provider, last: Day, signal: AbortSignal): Promise<void> {
    const { zone, log } = this.#needs;
    const { store, property } = this;
    const wasUndecided = store.isUndecided;
    const span = { from: addDays(last, 1 - DAYS_LOOKED_AT), to: addDays(last, 1) };
    const question = { propertyCustomerId: property.propertyCustomerId, span, zone, signal };
    const asked = this.#hoursAreRefused ? undefined : provider.readingHours?.(question);
    const hours = await Promise.resolve(asked ?? []).catch((err) => {
      if (!(err instanceof ProviderRefused) || err.status !== 400) throw err;
      this.#hoursAreRefused = true;
      return [];
    });
    // The last readings of days tell less: whether others came before them is not known.
    const closes = closingOf(hours.length > 0 ? hours : [...store.ledger.readTimes.values()], zone);
    // The retained history has brought what was decided once.
    if (closes === null || (wasUndecided && !store.isUndecided)) return;
    log.info({ readingCloses: closes, from: span.from, to: last }, DECISIONS[closes]);
    if (closes !== store.readingCloses || store.isUndecided) await store.decide(closes);
  }

  /** Everything there is to publish; `null` until the history is complete. */
  view(): MeterView | null {
    const reading = this.reading();
    if (reading === null) return null;
    const { zone } = this.#needs;
    const ledger = this.store.saved;
    const { known: _known, ...sums } = this.#sumsOf(ledger);
    const { lastSuccessAt, ...fromAccount } = this.#fromAccount();
    return {
      statementMonth: this.completeMonths().next().value ?? null,
      registerCheck:
        fromAccount.register &&
        this.#checkRegister(fromAccount.register, ledger, this.store.readingCloses, zone),
      ...reading,
      ...sums,
      ...fromAccount,
      account: this.account,
      friendlyName: this.friendlyName,
      identifiers: this.property.meterIdentifiers,
      zone,
      readingCloses: this.store.readingCloses,
      updatedAt: Math.max(this.#updatedAt ?? 0, lastSuccessAt ?? 0) || null,
    };
  }

  /** Part of the view. */
  reading(): Pick<MeterView, 'meter' | 'readingAt' | 'late'> | null {
    const ledger = this.store.saved;
    if (!ledger.complete) return null;
    const { config, clock } = this.#needs;
    const { newestDay } = this.#sumsOf(ledger).totals;
    const readingAt = newestDay === null ? null : this.#readAt(ledger, newestDay);
    const late =
      readingAt === null ? null : clock.now() - readingAt > config.usage.late_after_hours * HOUR_MS;
    return { meter: this.name, readingAt, late };
  }

  /** The months of which a statement can be had, newest first. */
  completeMonths(): Generator<string, undefined> {
    const { zone, clock, config } = this.#needs;
    const { late_after_hours: lateAfterHours } = config.usage;
    return completeMonths(this.store.tenancy, { zone, now: clock.now(), lateAfterHours });
  }

  /** What other days than those of the month will come to. */
  forecastOver({ from, to }: DaySpan): Forecasts {
    return this.#spanForecast(from, to, this.#sumsOf(this.store.saved).known);
  }

  /** The newest readings were taken at other hours than those it was decided by once. */
  get isContradicted(): boolean {
    const { isOpenToReadings, readingCloses, saved } = this.store;
    return isOpenToReadings && this.#contradicted(readingCloses, saved.readTimes, this.#needs.zone);
  }

  /** What the provider does not tell is taken for the end of the day, but for nothing later than its arrival here. */
  #readAt({ days, readTimes }: Ledger, day: Day): number {
    const { zone, clock } = this.#needs;
    const latest = Math.min(days.get(day)?.receivedAt ?? clock.now(), clock.now());
    return Math.min(readTimes.get(day) ?? zone.startOf(addDays(day, 1)), latest);
  }

  /** Days asked for so far, and in all, while the history is read for the first time; `null` once it is complete. */
  progress(): Progress | null {
    const { account, name: meter } = this;
    const { origin, readTo, complete } = this.ledger;
    if (complete) return null;
    const { zone, clock } = this.#needs;
    const end = addDays(zone.dayAt(clock.now()), 1);
    return { account, meter, days_read: daysBetween(origin, readTo), days_total: daysBetween(origin, end) };
  }

  #tellHistory(): void {
    const { ledger } = this.store;
    const { energy, cost } = this.#sumsOf(ledger).totals.total;
    const { currency } = this.#fromAccount();
    const sums = { days: ledger.days.size, kwh: knownUnits(energy), cost: knownUnits(cost), currency };
    this.#needs.log.info({ origin: ledger.origin, ...sums }, 'history complete');
  }

  #sumsOf(ledger: Ledger) {
    const { zone, clock, outdoor } = this.#needs;
    const tenancy = ledger === this.store.saved ? this.store.tenancy : ledger;
    const today = zone.dayAt(clock.now());
    const tariff = this.store.tariffOf(ledger);
    const { weather } = outdoor;
    return {
      ledger,
      tenancy,
      tariff,
      weather,
      totals: this.#totals(ledger, today, tenancy.origin),
      ...this.#expected(tenancy.days, today, tariff),
      ...this.#compared(tenancy.days, today, weather),
      changeOver: this.#changes(tenancy.days, weather),
      use: this.#judged(tenancy.days, today, weather?.temperatures ?? null, tariff),
    };
  }
}

/** What the running month will come to. */
function expected(days: Ledger['days'], today: Day, tariff: Tariff | null) {
  const known: Known = { days, today, tariff };
  return { known, monthForecast: forecastMonth(known) };
}

/** What the weather has to do with the days. */
function compared(days: Ledger['days'], today: Day, weather: Weather | null) {
  if (weather === null) return { weatherChange: null, degreeDaysMonth: null, heatParts: null };
  const month = { from: monthStart(today), to: addDays(today, 1) };
  const house = fitHouse(days, weather, today);
  const own = typeof house === 'object' ? house.base : weather.base;
  return {
    weatherChange: weatherChange(days, { ...weather, base: own }),
    degreeDaysMonth: degreeDaysWithin(weather.temperatures, own ?? USUAL_BASE, month),
    heatParts: splitHeat(days, weather.temperatures, house, month),
  };
}

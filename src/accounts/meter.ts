// One property while the daemon runs: its ledger, what a poll reads of it, and what there is to publish.
import { knownUnits } from '../domain/amount.ts';
import { judgeUse } from '../domain/insight/alarm.ts';
import { type Forecaster, type Forecasts, forecaster, forecastMonth } from '../domain/insight/forecast.ts';
import { checkRegister } from '../domain/insight/registerCheck.ts';
import { type House, openHouse, type Weather } from '../domain/insight/weather.ts';
import type { Ledger } from '../domain/ledger.ts';
import { addDays, type Day, type DaySpan, daysBetween, monthStart, type Zone } from '../domain/period.ts';
import type { Property } from '../domain/reading.ts';
import { isContradicted, type ReadingCloses } from '../domain/readingCloses.ts';
import type { Tariff } from '../domain/tariff/tariff.ts';
import { totals } from '../domain/totals.ts';
import { EXIT, failure } from '../foundation/failure.ts';
import type { Provider } from '../provider/provider.ts';
import type { Health } from '../publication/messages.ts';
import { completeMonths } from '../publication/statement/statement.ts';
import type { MeterView } from '../publication/views.ts';
import type { AccountRecord } from '../store/documents.ts';
import type { AccountContext, MeterChange } from './context.ts';
import type { AccountExtras } from './extras.ts';
import { LedgerBook, tenantSince } from './ledgerBook.ts';
import { MeterPoll } from './meterPoll.ts';
import { configuredMeter, friendlyNameOf, ledgerFile } from './names.ts';
import { rememberLast } from './rememberLast.ts';

interface Identity {
  readonly account: string;
  readonly property: Property;
  readonly name: string;
}

type Needs = Pick<
  AccountContext,
  'config' | 'zone' | 'state' | 'clock' | 'log' | 'changed' | 'outdoor' | 'witnessOf'
>;
/** The account's facts beside the usage of its meters. */
interface OfAccount {
  readonly extras: Pick<AccountExtras, 'currency' | 'register'>;
  readonly journal: { readonly record: Pick<AccountRecord, 'lastSuccessAt'> };
}

const HOUR_MS = 3_600_000;

export class Meter {
  readonly account: string;
  /** The name of its series in topics. */
  readonly name: string;
  readonly book: LedgerBook;
  /** The newest discovery gave it: the meter may have been exchanged since. */
  property: Property;
  readonly #ofAccount: OfAccount;
  readonly #context: Needs;
  readonly #poll: MeterPoll;
  readonly #figuresOf = rememberLast(figures);
  readonly #houseOf = rememberLast(
    (days: Ledger['days'], weather: Weather | null) => weather && openHouse(days, weather),
  );
  readonly #forecastOf = rememberLast((from: Day, to: Day, forecast: Forecaster) => forecast({ from, to }));
  readonly #checkRegister = rememberLast(checkRegister);
  readonly #isContradictedBy = rememberLast(
    (closes: ReadingCloses, readTimes: Ledger['readTimes'], zone: Zone) =>
      isContradicted(closes, [...readTimes.values()], zone),
  );

  /** `name`: of its series in topics. */
  static async open(identity: Identity, ofAccount: OfAccount, context: Needs): Promise<Meter> {
    const { account, property, name } = identity;
    const called = friendlyNameOf(context.config.meters, property, name);
    const log = context.log.child({ meter: name, ...(called === null ? {} : { called }) });
    const named = { ...context, log };
    const store = await LedgerBook.open(
      ledgerFile(account, property),
      named,
      tenantSince(account, context.config),
    );
    return new Meter(identity, store, ofAccount, named);
  }

  private constructor(
    { account, property, name }: Identity,
    store: LedgerBook,
    ofAccount: OfAccount,
    context: Needs,
  ) {
    this.account = account;
    this.name = name;
    this.book = store;
    this.property = property;
    this.#ofAccount = ofAccount;
    this.#context = context;
    const onHistory = () => context.changed(account);
    this.#poll = new MeterPoll(property.propertyCustomerId, store, context, onHistory);
  }

  get friendlyName(): string | null {
    return friendlyNameOf(this.#context.config.meters, this.property, this.name);
  }

  get ledger(): Ledger {
    return this.book.ledger;
  }

  /** The history is complete and saved: there is something to publish. */
  get isComplete(): boolean {
    return this.book.saved.complete;
  }

  /** The newest readings were taken at other hours than those it was decided by once. */
  get isContradicted(): boolean {
    const { isOpenToReadings, readingCloses, saved } = this.book;
    return isOpenToReadings && this.#isContradictedBy(readingCloses, saved.readTimes, this.#context.zone);
  }

  /** Reads what the provider has; `again`: those days instead of what is due. Rejects with the provider's failures. */
  async poll(provider: Provider, signal: AbortSignal, again?: DaySpan): Promise<readonly MeterChange[]> {
    const wasComplete = this.ledger.complete;
    const changes = await this.#poll.run(provider, signal, again);
    if (!wasComplete && this.ledger.complete) this.#logHistory();
    return changes;
  }

  /** The newest reading, as the view has it: without all that is computed of the days. */
  reading(): Pick<MeterView, 'meter' | 'readingAt' | 'late'> | null {
    const { clock, config } = this.#context;
    const ledger = this.book.saved;
    if (!ledger.complete) return null;
    const { newestDay } = this.#figures().totals;
    const readingAt = newestDay === null ? null : this.#readAt(ledger, newestDay);
    const lateMs = config.usage.late_after_hours * HOUR_MS;
    const late = readingAt === null ? null : clock.now() - readingAt > lateMs;
    return { meter: this.name, readingAt, late };
  }

  /** Everything there is to publish; `null` until the history is complete. */
  view(): MeterView | null {
    const newest = this.reading();
    if (newest === null) return null;
    const { account, friendlyName, name, book } = this;
    const { config, zone, witnessOf } = this.#context;
    const { readingCloses } = book;
    const { forecast: _forecast, ...sums } = this.#figures();
    const { extras, journal } = this.#ofAccount;
    const register = extras.register(this.property);
    const configured = configuredMeter(config.meters, this.property, name);
    return {
      ...newest,
      ...sums,
      account,
      friendlyName,
      area: configured?.area_m2,
      identifiers: this.property.meterIdentifiers,
      zone,
      currency: extras.currency,
      register,
      registerCheck: register && this.#checkRegister(register, sums.ledger, readingCloses, zone),
      witness: witnessOf?.(configured?.key, sums.ledger),
      statementMonth: this.completeMonths().next().value ?? null,
      readingCloses,
      updatedAt: Math.max(this.#poll.updatedAt, journal.record.lastSuccessAt ?? 0) || null,
    };
  }

  /** The months of which a statement can be had, newest first. */
  completeMonths() {
    const { zone, clock, config } = this.#context;
    const { late_after_hours: lateAfterHours } = config.usage;
    return completeMonths(this.book.tenancy, { zone, now: clock.now(), lateAfterHours });
  }

  /** The forecast of other days than those of the month. */
  forecastOver({ from, to }: DaySpan): Forecasts {
    return this.#forecastOf(from, to, this.#figures().forecast);
  }

  /** Days asked for so far, and in all, while the history is read for the first time; `null` once it is complete. */
  progress(): Health['progress'][number] | null {
    const { origin, readTo, complete } = this.ledger;
    const end = addDays(this.#today(), 1);
    // A clock that is not set yet may be before the origin.
    if (complete || end <= origin) return null;
    return {
      account: this.account,
      meter: this.name,
      days_read: daysBetween(origin, readTo),
      days_total: daysBetween(origin, end),
    };
  }

  #today(): Day {
    return this.#context.zone.dayAt(this.#context.clock.now());
  }

  #figures() {
    const { saved, tenancy } = this.book;
    const house = this.#houseOf(tenancy.days, this.#context.outdoor.weather);
    return this.#figuresOf(saved, tenancy, this.#today(), this.book.tariffOf(saved), house);
  }

  /** A time that the provider does not tell is taken for the end of the day, but for nothing later than its arrival here. */
  #readAt({ days, readTimes }: Ledger, day: Day): number {
    const { clock, zone } = this.#context;
    const latest = Math.min(days.get(day)?.receivedAt ?? clock.now(), clock.now());
    return Math.min(readTimes.get(day) ?? zone.startOf(addDays(day, 1)), latest);
  }

  #logHistory(): void {
    const { origin, days } = this.ledger;
    const { energy, cost } = totals(this.ledger, this.#today()).total;
    const { currency } = this.#ofAccount.extras;
    const sums = { days: days.size, kwh: knownUnits(energy), cost: knownUnits(cost), currency };
    this.#context.log.info({ origin, ...sums }, 'history complete');
  }
}

/** The figures computed from the days. `tenancy`: the days that are compared and forecast. */
function figures(ledger: Ledger, tenancy: Ledger, today: Day, tariff: Tariff | null, house: House | null) {
  const { days, origin } = tenancy;
  const facts = { days, today, tariff };
  const forecast = forecaster(facts);
  const month = { from: monthStart(today), to: addDays(today, 1) };
  const line = house?.lineBefore(today);
  return {
    ledger,
    tenancy,
    tariff,
    house,
    totals: totals(ledger, today, origin),
    forecast,
    monthForecast: forecastMonth(facts, forecast),
    weatherChange: house?.newestChange() ?? null,
    degreeDaysMonth: house?.degreeDays(month, line) ?? null,
    heatParts: house?.split(month, line) ?? null,
    use: judgeUse(days, today, house?.temperatures ?? null, tariff),
  };
}

/** `complete`: the months that can be had, newest first. Throws no_statement or unknown_month. */
export function chosenMonth(complete: Iterable<string>, wanted: string | undefined): string {
  const months = [...complete];
  const [first, last] = [months.at(-1), months[0]];
  if (first === undefined || last === undefined)
    throw failure('no_statement', 'No month is complete yet.', {
      exit: EXIT.usage,
      retry: 'later',
      hint: 'A month is complete when all of its days are read, or usage.late_after_hours after its end.',
    });
  if (wanted === undefined) return last;
  if (months.includes(wanted)) return wanted;
  throw failure('unknown_month', `month: found ${wanted.slice(0, 20)}; allowed: ${first} to ${last}.`, {
    exit: EXIT.usage,
    retry: 'never',
    hint: 'These are the months that are complete, from the first whole one of the history on.',
  });
}

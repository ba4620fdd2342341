// The facts that states and discovery are written from.
import type { Config } from '../config/schema.ts';
import type { Micro } from '../domain/amount.ts';
import type { Balance, Invoices } from '../domain/extras.ts';
import type { AuthStatus } from '../domain/health.ts';
import type { UseJudgement } from '../domain/insight/alarm.ts';
import type { BillChecks } from '../domain/insight/bill.ts';
import type { Forecasts } from '../domain/insight/forecast.ts';
import type { BillForecast } from '../domain/insight/nextBill.ts';
import type { RegisterCheck } from '../domain/insight/registerCheck.ts';
import type { House } from '../domain/insight/weather.ts';
import type { WitnessDays } from '../domain/insight/witnessDays.ts';
import type { Invoice } from '../domain/invoice.ts';
import type { Ledger } from '../domain/ledger.ts';
import type { Day, Zone } from '../domain/period.ts';
import type { RegisterHistory } from '../domain/reading.ts';
import type { ReadingCloses } from '../domain/readingCloses.ts';
import type { Tariff } from '../domain/tariff/tariff.ts';
import type { Totals } from '../domain/totals.ts';

/** The meter's own register, and what comes with it. */
export interface WitnessView {
  /** The newest register; `null`: silent for two days. */
  readonly energy: Micro | null;
  /** It was read then, epoch milliseconds; `null` too if nobody knows. */
  readonly at: number | null;
  /** The growth since local midnight; `null`: the register at midnight is not known. */
  readonly today: Micro | null;
  /** The first register of each day. */
  readonly midnights: RegisterHistory | null;
  readonly compared: WitnessDays;
  /** The units are °C and m³. Undefined: they have never come. */
  readonly flowTemperature: number | null | undefined;
  readonly returnTemperature: number | null | undefined;
  readonly volume: number | null | undefined;
}

export interface MeterView {
  readonly meter: string;
  readonly account: string;
  /** Its name in the configuration. */
  readonly friendlyName: string | null;
  /** The area that it heats, in square metres; undefined: the statement's area of all. */
  readonly area?: number | undefined;
  readonly identifiers: readonly string[];
  readonly ledger: Ledger;
  /** The part of the ledger since `accounts[].history_since`: all of it where that is not given. */
  readonly tenancy: Ledger;
  readonly totals: Totals;
  /** `null` while none explains the days. */
  readonly tariff: Tariff | null;
  /** The running month at its end. */
  readonly monthForecast: Forecasts;
  /** `null`: no outdoor temperature is configured, or nothing is known of it yet. */
  readonly house: House | null;
  /** K·d of the running month, and of how many days. */
  readonly degreeDaysMonth: ReturnType<House['degreeDays']>;
  /** The change, or the reason why there is none. */
  readonly weatherChange: ReturnType<House['newestChange']> | null;
  /** The running month's heat apart; or why that is not known. */
  readonly heatParts: ReturnType<House['split']> | null;
  /** `null`: too few days tell what is usual. */
  readonly use: UseJudgement | null;
  readonly zone: Zone;
  /** A reading closes the day it is taken on, or the day before. */
  readonly readingCloses: ReadingCloses;
  readonly currency: string;
  /** The newest reading was taken then, or else its day ended; epoch milliseconds, never the future. */
  readonly readingAt: number | null;
  /** `null` while there is no reading at all. */
  readonly late: boolean | null;
  /** The provider was last asked successfully then, epoch milliseconds. */
  readonly updatedAt: number | null;
  /** `null` until the provider has given it. */
  readonly register: RegisterHistory | null;
  readonly registerCheck: RegisterCheck | null;
  /** Undefined: the configuration names none. */
  readonly witness?: WitnessView | undefined;
  /** The newest month that is complete, `YYYY-MM`; `null` while there is none. */
  readonly statementMonth: string | null;
}

/** Facts that the provider does not tell. */
export type StatementConfig = Config['statement'];

export interface AccountView {
  readonly account: string;
  readonly auth: AuthStatus;
  readonly zone: Zone;
  readonly today: Day;
  readonly currency: string;
  /** These are `null` until the provider has given them. */
  readonly balance: Balance | null;
  readonly credit: Balance | null;
  readonly invoices: Invoices | null;
  readonly newestInvoice: Invoice | null;
  /** The keys are ids of invoices; those are left out that cannot be compared with their days. */
  readonly checks: BillChecks;
  /** `null` without invoices that tell their periods. */
  readonly nextBill: BillForecast | null;
  /** The questions to the provider beside the usage. */
  readonly asked: Pick<Config['extras'], 'meter_reading' | 'balance' | 'invoices'>;
  /** The configuration's part of a statement. */
  readonly statement: StatementConfig;
  readonly requestsToday: number;
  readonly loginsToday: number;
}

export interface BridgeView {
  readonly startedAt: number;
  /** Drawn at the start. */
  readonly instance: string;
  readonly schedule: string | null;
  readonly zone: Zone;
  /** The meters that have a state. */
  readonly meters: readonly Pick<
    MeterView,
    'meter' | 'account' | 'friendlyName' | 'identifiers' | 'readingCloses'
  >[];
}

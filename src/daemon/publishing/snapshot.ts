// The living truth: what is known of meters, accounts and health at this moment.
import type { Config } from '../../config/schema.ts';
import { type AuthStatus, type HealthRecord, needsAPerson, type Reason } from '../../domain/health.ts';
import { newestOf } from '../../domain/invoice.ts';
import type { Zone } from '../../domain/period.ts';
import type { Clock } from '../../foundation/clock.ts';
import { EXIT, Failure, safeWords } from '../../foundation/failure.ts';
import type { AccountView, BridgeView, MeterView } from '../../publication/views.ts';
import type { AccountRuntime } from '../accounts/account.ts';
import { historyProgress, type Meter } from '../accounts/meter.ts';
import type { Trouble } from '../polling/poll.ts';
import type { Statistics } from './statistics.ts';

export interface TruthParts {
  readonly config: Config;
  readonly accounts: readonly AccountRuntime[];
  readonly zone: Zone;
  readonly clock: Clock;
  readonly startedAt: number;
  readonly troubles: () => readonly Trouble[];
  readonly nextPollAt: () => number | null;
  /** Faults of the house itself, such as a port that is taken. */
  readonly ownReasons: () => readonly Reason[];
  /** `null`: Home Assistant is not configured. */
  readonly statistics: () => Pick<Statistics, 'status' | 'reasons'> | null;
}

export interface Truth {
  /** `only`: of these accounts. */
  meters(only?: readonly string[]): MeterView[];
  /** The newest reading of each meter that has a view. */
  readings(only?: readonly string[]): Pick<MeterView, 'meter' | 'readingAt' | 'late'>[];
  accounts(only?: readonly string[]): AccountView[];
  bridge(): BridgeView;
  health(): HealthRecord;
  /** Every account's properties are known: whatever else was announced once is gone for good. */
  isWhole(): boolean;
}

// Above this, a list on bridge/health names no more: with thousands of accounts it would be megabytes at each change.
const MOST_TOLD = 50;

function atMost(reasons: readonly Reason[]): readonly Reason[] {
  if (reasons.length <= MOST_TOLD) return reasons;
  const left = reasons.length - MOST_TOLD;
  const rest = { code: 'more_reasons', message: `${left} more reasons are not listed here.` };
  return [...reasons.slice(0, MOST_TOLD), rest];
}

export function openTruth(parts: TruthParts): Truth {
  const { accounts, zone, clock, config } = parts;
  const byId = new Map(accounts.map((account) => [account.id, account]));
  const among = (only?: readonly string[]) => only?.flatMap((id) => byId.get(id) ?? []) ?? accounts;
  const allMeters = (only?: readonly string[]) =>
    among(only).flatMap(({ id, meters }) => (meters ?? []).map((meter) => ({ account: id, meter })));
  const meters = (only?: readonly string[]) => allMeters(only).flatMap(({ meter }) => meter.view() ?? []);
  const newest = (times: readonly (number | null)[]): number | null => {
    const known = times.filter((time) => time !== null);
    return known.length === 0 ? null : Math.max(...known);
  };
  const total = (kind: 'requests' | 'logins') =>
    accounts.reduce((sum, { journal }) => sum + journal.today()[kind], 0);

  /** Signed in again, though the poll that follows has not come to its end. */
  function isOver({ account, fault }: Trouble): boolean {
    const wasRefused = fault instanceof Failure && fault.exitCode === EXIT.credentials;
    return wasRefused && byId.get(account)?.upstream.session.status().state === 'ok';
  }

  function reasons(): Reason[] {
    const troubles = parts
      .troubles()
      .filter((trouble) => !isOver(trouble))
      .map(({ account, fault }) => ({ ...safeWords(fault), account }));
    const ofMeters = allMeters().flatMap(({ account, meter }) => meterReasons(account, meter, parts));
    const ofStatistics = parts.statistics()?.reasons() ?? [];
    const ofSites = accounts.flatMap(({ extras }) => extras.reasons());
    return [...parts.ownReasons(), ...troubles, ...ofStatistics, ...ofMeters, ...ofSites];
  }

  /** Of many accounts only those that are not well, the worst first: each has its own topic too. */
  function authWorthTelling(): [string, AuthStatus][] {
    const all = accounts.map(({ id, upstream }): [string, AuthStatus] => [id, upstream.session.status()]);
    if (all.length <= MOST_TOLD) return all;
    const unwell = all.filter(([, { state }]) => state !== 'ok');
    const isStuck = ([, { state }]: [string, AuthStatus]) => Number(needsAPerson(state));
    return unwell.sort((one, other) => isStuck(other) - isStuck(one)).slice(0, MOST_TOLD);
  }

  function health(): HealthRecord {
    const today = zone.dayAt(clock.now());
    return {
      auth: Object.fromEntries(authWorthTelling()),
      reasons: atMost(reasons()),
      progress: allMeters()
        .filter(({ meter }) => !meter.ledger.complete)
        .slice(0, MOST_TOLD)
        .flatMap(({ account, meter }) => {
          const progress = historyProgress(meter, today);
          return progress === null ? [] : { account, meter: meter.name, ...progress };
        }),
      statistics: parts.statistics()?.status() ?? null,
      lastPollAt: newest(accounts.map(({ journal }) => journal.lastPollAt)),
      lastSuccessAt: newest(accounts.map(({ journal }) => journal.lastSuccessAt)),
      nextPollAt: parts.nextPollAt(),
      failuresInARow: Math.max(0, ...parts.troubles().map(({ failuresInARow }) => failuresInARow)),
      requestsToday: total('requests'),
      loginsToday: total('logins'),
    };
  }

  return {
    meters,
    readings: (only) => allMeters(only).flatMap(({ meter }) => meter.reading() ?? []),
    accounts: (only) =>
      among(only).map(({ id, upstream, journal, extras }) => {
        const { requests, logins } = journal.today();
        const { balance, credit, invoices } = extras.known;
        return {
          account: id,
          auth: upstream.session.status(),
          zone,
          currency: extras.currency,
          balance: balance.found,
          credit: credit.found,
          invoices: invoices.found,
          newestInvoice: newestOf(invoices.found?.all ?? [], clock.now()),
          requestsToday: requests,
          loginsToday: logins,
        };
      }),
    bridge: () => ({
      startedAt: parts.startedAt,
      schedule: accounts.length > 0 ? config.usage.schedule : null,
      zone,
      health: health(),
      meters: allMeters()
        .filter(({ meter }) => meter.isTold)
        .map(({ account, meter }) => ({
          meter: meter.name,
          account,
          identifiers: meter.property.meterIdentifiers,
        })),
    }),
    health,
    isWhole: () =>
      accounts.every((account) => account.meters?.every(({ ledger }) => ledger.complete) ?? false),
  };
}

function meterReasons(account: string, meter: Meter, { config, zone }: TruthParts): Reason[] {
  const about = { account, meter: meter.name };
  const found: Reason[] = [];
  if (meter.ledger.held.size > 0) {
    const held = [...meter.ledger.held.keys()].sort();
    found.push({
      code: 'implausible_reading',
      message: `The provider's amounts for ${held.join(', ')} are implausible and held back.`,
      hint: 'Amounts far too large count once the provider gives them again; negative ones never do.',
      ...about,
    });
  }
  const reading = meter.reading();
  if (reading?.late && reading.readingAt !== null) {
    found.push({
      code: 'data_late',
      message: `The newest reading ends ${zone.iso(reading.readingAt)}, more than ${config.usage.late_after_hours} hours ago.`,
      hint: 'The provider has nothing newer; nothing is lost, late days fill in by themselves.',
      ...about,
    });
  }
  return found;
}

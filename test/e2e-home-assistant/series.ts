// The pair of long-term statistics of a meter: as Home Assistant holds it, and as it has to be.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Simulator } from '../../src/simulator/provider.ts';
import { METER, PROPERTY } from '../support/homes.ts';
import type { Probe } from '../support/probe.ts';
import { waitFor } from '../support/waitFor.ts';
import type { Api } from './api.ts';
import type { House } from './story.ts';

export const ENERGY = `heat2mqtt:${METER}_energy`;
export const COST = `heat2mqtt:${METER}_cost`;
export const HEALTH_TOPIC = 'heat2mqtt/bridge/health';

/** A gas source of the Energy preferences. */
export const gas = (energy: string, cost: string | null, name?: string) => ({
  type: 'gas',
  stat_energy_from: energy,
  stat_cost: cost,
  entity_energy_price: null,
  number_energy_price: null,
  ...(name === undefined ? {} : { name }),
});

export interface Row {
  /** Local date at the start. */
  readonly day: string;
  readonly state: number;
  readonly sum: number;
}

const EARLIEST = '2000-01-01T00:00:00+00:00';
const DUBLIN = new Intl.DateTimeFormat('en-CA', { timeZone: 'Europe/Dublin' });
// By way of whole millionths: half a thousandth has to be one when it is rounded.
const toMicro = (amount: number): number => Math.round(amount * 1e6);
const toMilli = (amount: number): number => Math.round(toMicro(amount) / 1_000);

export const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);

/** Starts the daemon with the token of the owner; `more`: keys of `home_assistant`. */
export async function startWithStatistics(
  story: House,
  over: Readonly<Record<string, unknown>> = {},
  more: Readonly<Record<string, unknown>> = {},
) {
  const tokenFile = join(story.folder, 'ha_token');
  await writeFile(tokenFile, `${story.token}\n`);
  const url = `${story.homeAssistant.url.replace('http', 'ws')}/api/websocket`;
  return story.start({ home_assistant: { url, token_file: tokenFile, ...more }, ...over });
}

/** The rows of a series; every one has to stand at the first hour of a day, by Home Assistant's own calendar. */
export async function rowsOf(api: Api, id: string): Promise<Row[]> {
  const [hours, days] = [await rows(api, id, 'hour'), await rows(api, id, 'day')];
  const lost = hours.filter(({ start }) => !days.some((day) => day.start === start));
  if (lost.length > 0 || hours.length !== days.length)
    throw new Error(`${hours.length} rows in ${days.length} days; not at midnight: ${JSON.stringify(lost)}`);
  return hours.map(({ start, state, sum }) => ({
    day: DUBLIN.format(start),
    state: toMilli(state),
    sum: toMilli(sum),
  }));
}

/** The hour in which each row stands, epoch milliseconds, and the sum up to its end. */
export async function hoursOf(api: Api, id: string) {
  return (await rows(api, id, 'hour')).map(({ start, sum }) => ({ start, sum: toMilli(sum) }));
}

/** By Home Assistant's own days: the sum at the end of each. */
export async function sumsOfDays(api: Api, id: string): Promise<ReadonlyMap<string, number>> {
  const days = await rows(api, id, 'day');
  return new Map(days.map(({ start, sum }) => [DUBLIN.format(start), toMilli(sum)]));
}

/** What the provider has booked, in thousandths, as the rows of a series. */
export function rowsOfTruth({ truth }: Simulator, kind: 'kwh' | 'eur'): Row[] {
  let micro = 0;
  return [...truth(PROPERTY)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([day, amounts]) => {
      micro += toMicro(amounts[kind]);
      return { day, state: toMilli(amounts[kind]), sum: Math.round(micro / 1_000) };
    });
}

/**
 * The next whole second, once it has begun, epoch milliseconds. The times of health have whole seconds: a success that
 * is told for this second or a later one came after the call.
 */
export async function nextSecond(): Promise<number> {
  const second = Math.ceil(Date.now() / 1_000) * 1_000;
  await waitFor('the next second', () => Date.now() >= second);
  return second;
}

/** Waits until the bridge says that its statistics are as they should be, with a success at `since` or later. */
export async function untilWritten(probe: Probe, since = 0): Promise<void> {
  await waitFor(
    'the statistics',
    () => {
      const { state, last_success_at } = statisticsOn(probe) ?? {};
      return state === 'ok' && Date.parse(String(last_success_at)) >= since;
    },
    { timeoutMs: 120_000, diagnose: () => probe.json(HEALTH_TOPIC) },
  );
}

export function statisticsOn(probe: Probe): Record<string, unknown> | undefined {
  const { statistics } = probe.json(HEALTH_TOPIC) ?? {};
  return typeof statistics === 'object' && statistics !== null ? { ...statistics } : undefined;
}

async function rows(api: Api, id: string, period: 'hour' | 'day') {
  const question = { start_time: EARLIEST, statistic_ids: [id], period, types: ['state', 'sum'] };
  const answer = await api.ask('recorder/statistics_during_period', question);
  const series: Record<string, { start: number; state: number; sum: number }[]> = Object(answer);
  return series[id] ?? [];
}

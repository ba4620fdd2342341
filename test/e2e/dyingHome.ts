// The home of the crash points: two accounts whose clock goes on by a day at a time, and the judge of what is told and of what is kept.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type Clock, systemClock } from '../../src/foundation/clock.ts';
import type { ExplicitEvent } from '../../src/simulator/meter.ts';
import { type Simulator, startSimulator } from '../../src/simulator/provider.ts';
import type { Child } from '../support/child.ts';
import { booked, home, METER, person, RETAINED } from '../support/homes.ts';
import { type Probe, startProbe } from '../support/probe.ts';
import { ROOT } from '../support/sources.ts';
import { openStack, type Stack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';
import { startMosquitto } from './mosquitto.ts';
import { run } from './program.ts';
import { expectWhole, warningsIn } from './wholeState.ts';

const DAY_MS = 86_400_000;
// A month that is complete has a statement.
const DAYS_AT_FIRST = 70;
const PRELOADED = ['wrongClock.mjs', 'dyingProgram.mjs'].map((name) => join(ROOT, 'test/e2e', name));
const EVENT = /^heat2mqtt\/(?:meter|account)\/(.+)\/event$/;

/** A warning that tells of the machine. */
const SLOW_MACHINE = 'shutdown step ran out of time';

export type Id = 'first' | 'second';
export const BOTH: readonly Id[] = ['first', 'second'];
const METERS = { first: METER, second: '70418236' };
const PROPERTIES = { first: 512_001, second: 512_002 };

/** What is retained with this account. */
const topicsWith = (id: Id): readonly string[] =>
  RETAINED.map((topic) => topic.replace(/(account.)home/, `$1${id}`).replace(METER, METERS[id]));

const dayOf = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

/** What the provider knows: readings of both, and bills of the first. Read live by the simulator. */
class Truth {
  readonly readings: Record<Id, ExplicitEvent[]> = { first: [], second: [] };
  readonly invoices: Record<string, unknown>[] = [];
  /** Each event that has to be told in the end, of the days after the history. */
  readonly news: Record<Id, string[]> = { first: [], second: [] };
  readonly #firstDay: number;
  #today: number;

  constructor(today: number) {
    this.#firstDay = today - DAYS_AT_FIRST;
    this.#today = today;
    for (let day = this.#firstDay; day <= today; day += 1) for (const id of BOTH) this.#read(id, day);
    this.#bill();
  }

  get since(): string {
    return dayOf(this.#firstDay);
  }

  /** A reading and a correction for both, and a bill for the first. */
  nextDay(): void {
    this.#today += 1;
    for (const id of BOTH) {
      const { kwh } = this.#read(id, this.#today);
      this.news[id].push(`${METERS[id]} new_day ${dayOf(this.#today)} ${kwh}`);
      this.#correct(id, this.#today - 3);
    }
    this.news.first.push(`first bill ${this.#bill()}`);
  }

  #read(id: Id, day: number): ExplicitEvent {
    const reading = { at: day * DAY_MS + DAY_MS / 48, ...amounts(5 + (day % 7)) };
    this.readings[id].push(reading);
    return reading;
  }

  #correct(id: Id, day: number): void {
    const at = day - this.#firstDay;
    const before = this.readings[id][at];
    if (before?.kwh == null) throw new Error(`no reading of ${dayOf(day)}`);
    const after = amounts(before.kwh + 0.5);
    this.readings[id][at] = { ...before, ...after };
    this.news[id].push(`${METERS[id]} corrected ${dayOf(day)} ${after.kwh}`);
  }

  #bill(): string {
    const id = `INV-${this.#today}`;
    const end_time = this.#today * DAY_MS;
    const times = { start_time: end_time - DAY_MS, end_time, payment_due: end_time };
    this.invoices.push({ id, status: 'invoice', ...times, total_amount: 9, due_amount: 9 });
    return id;
  }
}

/** One tariff, so that it never changes. */
const amounts = (kwh: number) => ({ kwh, eur: 1 + kwh / 8 });

export class DyingHome {
  readonly figures = { toldTwice: 0, pairsLost: 0 };
  readonly #stack: Stack;
  readonly #folder: string;
  readonly #broker: { readonly url: string; readonly port: number };
  readonly #simulator: Simulator;
  readonly #truth: Truth;
  readonly #clock: { offsetMs: number };
  /** Refresh tokens that the issuer has seen. */
  readonly #spent = new Set<unknown>();
  /** The last payload of each topic that is retained. */
  readonly #retained = new Map<string, string>();
  /** How often each event was told. */
  readonly #told = new Map<string, number>();
  /** Events that are noted as told: never again. */
  readonly #noted = new Set<string>();

  /** To be called from within a test. */
  static async open(): Promise<DyingHome> {
    const stack = openStack();
    const folder = await stack.folder();
    const broker = stack.use(await startMosquitto());
    const probe = stack.use(await startProbe(broker.url, { protocolVersion: 5 }));
    // It begins at noon: a day ends when the test says so, and the reading of its first hour is there.
    const offset = { offsetMs: DAY_MS / 2 - (systemClock.now() % DAY_MS) };
    const clock: Clock = { ...systemClock, now: () => systemClock.now() + offset.offsetMs };
    const truth = new Truth(Math.floor(clock.now() / DAY_MS));
    const accounts = BOTH.map((id) => ({
      ...person(id, [home(METERS[id], { events: truth.readings[id] }, PROPERTIES[id])]),
      invoices: id === 'first' ? truth.invoices : [],
    }));
    const simulator = stack.use(await startSimulator({ clock, accounts }));
    return new DyingHome({ stack, folder, broker, probe, simulator, truth, offset });
  }

  private constructor(parts: {
    readonly stack: Stack;
    readonly folder: string;
    readonly broker: { readonly url: string; readonly port: number };
    readonly probe: Probe;
    readonly simulator: Simulator;
    readonly truth: Truth;
    readonly offset: { offsetMs: number };
  }) {
    this.#stack = parts.stack;
    this.#folder = parts.folder;
    this.#broker = parts.broker;
    this.#simulator = parts.simulator;
    this.#truth = parts.truth;
    this.#clock = parts.offset;
    const { switches } = parts.simulator;
    Object.assign(switches.token, { refreshSeconds: 90 * 86_400, sessionMaxSeconds: 9_000 * 86_400 });
    // A fault that never happens: its condition sees every request as it comes.
    const noteToken = ({ body }: { readonly body?: unknown }): boolean => {
      this.#spent.add(Object(body).refresh_token);
      return false;
    };
    switches.fault('/', { kind: 'reset' }, { when: noteToken });
    parts.probe.onMessage(({ topic, payload }) => {
      if (EVENT.test(topic)) this.#hear(topic, payload);
      else if (payload === '') this.#retained.delete(topic);
      else this.#retained.set(topic, payload);
    });
  }

  nextDay(): void {
    this.#clock.offsetMs += DAY_MS;
    this.#truth.nextDay();
  }

  /** Starts the program, which dies at that point. Resolves to what it died of; `null`: it has no such point, and ended well. */
  async dieAt(point: number, accounts: readonly Id[]): Promise<string | null> {
    const program = await this.#start(accounts, point);
    let isGone = false;
    void program.exited.then(() => {
      isGone = true;
    });
    await waitFor('its death', () => isGone || this.#missing(program, accounts, true).length === 0, {
      diagnose: () => program.output.slice(-2_000),
    });
    const { code } = await program.end('SIGTERM');
    const died = /died (.*)/.exec(program.errors)?.[1] ?? null;
    if (died === null) expect(code, program.errors).toBe(0);
    await expectWhole(join(this.#folder, 'state'));
    await this.#judgeEvents();
    return died;
  }

  /**
   * Starts the program, and ends it once everything is as it should be. Bills are asked for once a day, after a poll: those that were not
   * read before a crash come on the next day.
   */
  async settle(accounts: readonly Id[], { isFirst = false, withBills = false } = {}): Promise<void> {
    const lost = await this.#pairsLost(accounts);
    const { passwordGrants } = this.#simulator.counters;
    const loginsBefore = passwordGrants.asked;
    const program = await this.#start(accounts);
    const missing = () => this.#missing(program, accounts, withBills);
    await waitFor('everything to be as it should', () => missing().length === 0, {
      diagnose: () => [missing(), program.output.slice(-3_000), program.errors],
    });
    expect(await program.end('SIGTERM')).toMatchObject({ code: 0 });
    await this.#judgeEvents();
    this.figures.pairsLost += lost;
    const mayComplain = lost > 0 ? ['session ended by the issuer', SLOW_MACHINE] : [SLOW_MACHINE];
    expect(warningsIn(program.output).filter((words) => !mayComplain.includes(words))).toEqual([]);
    expect(passwordGrants.asked - loginsBefore, 'logins').toBe(isFirst ? BOTH.length : lost);
  }

  /** After the last day. */
  expectEverythingTold(): void {
    const news = BOTH.flatMap((id) => this.#truth.news[id]);
    expect([...this.#told.keys()].toSorted()).toEqual(news.toSorted());
  }

  async #start(accounts: readonly Id[], point = 0) {
    const { issuer, api } = this.#simulator.urls;
    const config = {
      version: 1,
      provider: { issuer, api_url: api, client_id: 'self-care' },
      accounts: accounts.map((id) => {
        const { username, password } = person(id, []);
        return { id, username, password };
      }),
      usage: {
        history_since: this.#truth.since,
        reading_closes: 'same_day',
        jitter_seconds: 0,
        late_after_hours: 8784,
      },
      mqtt: { url: this.#broker.url },
      http: false,
      state_dir: join(this.#folder, 'state'),
    };
    const path = join(this.#folder, 'config.yaml');
    const clock = join(this.#folder, 'clock');
    await writeFile(path, JSON.stringify(config));
    await writeFile(clock, String(this.#clock.offsetMs));
    const env = {
      NODE_OPTIONS: PRELOADED.map((file) => `--import ${file}`).join(' '),
      CLOCK_OFFSET_FILE: clock,
      DIE_AT: String(point),
      DIE_PORTS: `${this.#broker.port} ${new URL(api).port}`,
    };
    return this.#stack.use(run(['run', '--config', path], { env }));
  }

  /** What is not yet as it should be, in words. */
  #missing(program: Child, accounts: readonly Id[], withBills: boolean): readonly string[] {
    const missing: string[] = [];
    // The broker may still have what the one before has said.
    if (!program.output.includes('connected to the broker')) missing.push('a connection');
    if (this.#retained.get('heat2mqtt/bridge/state') !== 'online') missing.push('online');
    for (const id of accounts) {
      const { energy_total } = JSON.parse(this.#retained.get(`heat2mqtt/meter/${METERS[id]}/state`) ?? '{}');
      const { kwh } = booked(this.#simulator, PROPERTIES[id]);
      if (energy_total !== kwh) missing.push(`${kwh} kWh in place of ${energy_total}`);
      const news = this.#truth.news[id].filter((event) => withBills || !event.includes('bill'));
      missing.push(...news.filter((event) => !this.#told.has(event)));
    }
    const wanted = new Set(accounts.flatMap(topicsWith));
    missing.push(...[...wanted].filter((topic) => !this.#retained.has(topic)));
    missing.push(...[...this.#retained.keys()].filter((topic) => !wanted.has(topic)));
    return missing;
  }

  #hear(topic: string, payload: string): void {
    const { event_type, day, energy_kwh, invoice } = JSON.parse(payload);
    const about = invoice ? invoice.id : `${day} ${energy_kwh}`;
    const event = `${EVENT.exec(topic)?.[1]} ${event_type} ${about}`;
    const times = this.#told.get(event) ?? 0;
    this.#told.set(event, times + 1);
    if (times > 0) this.figures.toldTwice += 1;
    expect(this.#noted.has(event), `told again after it was noted: ${event}`).toBe(false);
  }

  /** What was told and is not among what the disk holds as untold is noted. */
  async #judgeEvents(): Promise<void> {
    const untold = new Set<string>();
    for (const id of BOTH) {
      const ledger = await this.#kept(id, `ledger-${PROPERTIES[id]}`);
      for (const { kind, day, after } of ledger.untold ?? [])
        untold.add(`${METERS[id]} ${kind} ${day} ${after.energy / 1e6}`);
      const extras = await this.#kept(id, 'extras');
      for (const bill of extras.value?.invoices?.found?.untoldIds ?? []) untold.add(`${id} bill ${bill}`);
    }
    for (const event of this.#told.keys()) if (!untold.has(event)) this.#noted.add(event);
  }

  /** Accounts whose pair was spent, and whose new one had not reached the disk. */
  async #pairsLost(accounts: readonly Id[]): Promise<number> {
    const tokens = await Promise.all(accounts.map((id) => this.#kept(id, 'tokens')));
    return tokens.filter(({ value }) => value && this.#spent.has(value.refreshToken)).length;
  }

  async #kept(id: Id, name: string) {
    const file = join(this.#folder, 'state/accounts', id, `${name}.json`);
    return JSON.parse(await readFile(file, 'utf8').catch(() => '{}'));
  }
}

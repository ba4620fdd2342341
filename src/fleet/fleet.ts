// One process of a fleet: wires it together, starts it and stops it, and begins again under another number where its own was taken.
import type { AccountContext } from '../accounts/context.ts';
import { Counters } from '../accounts/metrics.ts';
import { openReplyShapes } from '../accounts/pollHistory.ts';
import type { Config, Fleet } from '../config/schema.ts';
import { zone as zoneOf } from '../domain/period.ts';
import type { CronTimes } from '../engine/schedule.ts';
import { safeWords } from '../foundation/failure.ts';
import { concurrencyLimit } from '../foundation/limits.ts';
import { shutDown } from '../foundation/shutdown.ts';
import { Topics } from '../publication/topics.ts';
import { sharedClock } from '../store/database/database.ts';
import { isHealthy, serveFleetHealth } from './healthServer.ts';
import { type Machine, type Member, startMember } from './member.ts';
import { NumberTaken } from './membership.ts';
import { type OpenFleet, openFleet } from './open.ts';

interface FleetOptions extends Pick<AccountContext, 'config' | 'clock' | 'log' | 'scrubber' | 'random'> {
  readonly fleet: Fleet;
  /** Of `usage.schedule`. */
  readonly cron: CronTimes;
}

const BEAT_MS = 2_000;

export interface FleetProcess {
  /** Among the processes that live no other has it. */
  readonly number: number;
  /** The same as /healthz says, also while HTTP is off. */
  isHealthy(): boolean;
  stop(): Promise<void>;
}

/** Rejects with a Failure when the database cannot be used. */
export async function startFleet(options: FleetOptions): Promise<FleetProcess> {
  const opened = await openFleet(options.fleet, options.log);
  try {
    return await runOn(await machineOf(options, opened));
  } catch (err) {
    await opened.close();
    throw err;
  }
}

async function runOn(machine: Machine): Promise<FleetProcess> {
  const { clock, log } = machine.context;
  let member = await startMember(machine);
  const http = await serveFleetHealth(() => member);
  const stopping = new AbortController();
  const { signal } = stopping;

  /** Rejects with what is no fault that was foreseen. */
  async function beat(): Promise<void> {
    while (!signal.aborted) {
      await clock.sleep(BEAT_MS, signal);
      if (!signal.aborted) await member.beat().catch(beginAgain);
    }
  }

  async function beginAgain(why: unknown): Promise<void> {
    if (!(why instanceof NumberTaken)) throw why;
    log.warn(safeWords(why), 'begins again under a number of its own');
    await member.giveUp();
    member = (await joinAgain(machine, signal)) ?? member;
  }

  const beating = beat();
  return {
    get number() {
      return member.number;
    },
    isHealthy: () => isHealthy(member),
    stop: () => {
      stopping.abort();
      return shutDown(
        [
          { name: 'runs', deadlineMs: 4_500, run: () => member.stopRuns() },
          { name: 'membership', deadlineMs: 1_000, run: () => member.leave() },
          { name: 'http', deadlineMs: 300, run: () => http?.stop() },
          { name: 'mqtt', deadlineMs: 1_000, run: () => member.sayGoodbye() },
          { name: 'beat', deadlineMs: 200, run: () => beating },
          { name: 'database', deadlineMs: 500, run: () => machine.opened.close() },
        ],
        clock,
        log,
      );
    },
  };
}

/** Resolves to `null` once the process is to stop. */
async function joinAgain(machine: Machine, signal: AbortSignal): Promise<Member | null> {
  const { clock, log } = machine.context;
  while (!signal.aborted) {
    const member = await startMember(machine).catch((err) => {
      log.warn(safeWords(err), 'cannot join the fleet again yet');
      return null;
    });
    if (member !== null && !signal.aborted) return member;
    await member?.giveUp();
    await clock.sleep(BEAT_MS, signal);
  }
  return null;
}

async function machineOf(options: FleetOptions, opened: OpenFleet): Promise<Machine> {
  const { log, random, scrubber, fleet, cron } = options;
  const config: Config = { ...options.config, web: false };
  // Once the process has joined, it tells the database's time.
  const clock = sharedClock(options.clock);
  const context = {
    config,
    clock,
    log,
    scrubber,
    random,
    zone: zoneOf(config.usage.timezone),
    topics: new Topics(config.mqtt.base_topic),
    counters: new Counters(),
    outdoor: { weather: null },
    limit: concurrencyLimit(config.usage.concurrency),
  };
  return {
    context,
    fleet,
    cron,
    opened,
    shared: { issuerMemory: { metadata: null }, onReply: await openReplyShapes(opened.replies, { clock }) },
  };
}

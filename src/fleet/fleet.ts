// One process of a fleet: wires it together, starts it and stops it, and begins again under another number where its own was taken.
import type { AccountContext } from '../accounts/context.ts';
import { Counters } from '../accounts/metrics.ts';
import { openReplyShapes } from '../accounts/replyShapes.ts';
import type { Config, Fleet } from '../config/schema.ts';
import { zone as zoneOf } from '../domain/period.ts';
import type { CronTimes } from '../engine/schedule.ts';
import { safeWords } from '../foundation/failure.ts';
import { concurrencyLimit } from '../foundation/limits.ts';
import { shutDown } from '../foundation/shutdown.ts';
import { Topics } from '../publication/topics.ts';
import { sharedClock } from '../store/database/database.ts';
import { isHealthy, serveFleetHealth } from './healthServer.ts';
import { type Machine, startMember } from './member.ts';
import { NumberTaken } from './membership.ts';
import { type OpenFleet, openFleet } from './open.ts';

interface FleetOptions extends Pick<AccountContext, 'config' | 'clock' | 'log' | 'scrubber' | 'random'> {
  readonly fleet: Fleet;
  /** The times of `usage.schedule`. */
  readonly cron: CronTimes;
}

const BEAT_MS = 2_000;

export interface FleetProcess {
  /** No other process that lives has it. */
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
  let hasNumber = true;
  const http = await serveFleetHealth(() => member);
  const stopping = new AbortController();
  const { signal } = stopping;

  async function beat(): Promise<void> {
    if (hasNumber) return member.beat();
    member = await startMember(machine);
    hasNumber = true;
    if (signal.aborted) await member.giveUp();
  }

  /** Rejects with what is no fault that was foreseen. */
  async function keepBeating(): Promise<void> {
    for (; !signal.aborted; await clock.sleep(BEAT_MS, signal))
      await beat().catch(async (err) => {
        if (hasNumber && !(err instanceof NumberTaken)) throw err;
        log.warn(safeWords(err), 'begins again under a number of its own');
        if (hasNumber) await member.giveUp();
        hasNumber = false;
      });
  }

  const beating = keepBeating();
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

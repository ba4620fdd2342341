// One process of a fleet under its number: its connection to the broker, which is known by the number, the accounts that it works on,
// and what it keeps for all.
import type { Fleet } from '../config/schema.ts';
import type { CronTimes } from '../engine/schedule.ts';
import { SingleFlight } from '../foundation/limits.ts';
import { brokerAddress } from '../mqtt/broker.ts';
import { Link } from '../mqtt/link.ts';
import { Requests } from '../mqtt/requests.ts';
import { processMessage, stateMessage } from '../publication/messages.ts';
import { transaction } from '../publication/payloads/requests.ts';
import { processSubscriptions } from '../publication/subscriptions.ts';
import { openClaims } from '../store/database/claims.ts';
import type { SharedClock } from '../store/database/database.ts';
import { fleetHandlers } from './answers.ts';
import { FleetCounts } from './health.ts';
import { Keeper } from './keeper.ts';
import { Membership } from './membership.ts';
import { Pace } from './pace.ts';
import type { ProcessParts } from './run.ts';
import { openSchedule } from './schedule.ts';
import { startWorker } from './worker.ts';

/** The parts of a process, whatever its number is. */
export interface Machine extends Pick<ProcessParts, 'opened' | 'shared'> {
  readonly context: ProcessParts['context'] & { readonly clock: SharedClock };
  readonly fleet: Fleet;
  /** The times of `usage.schedule`. */
  readonly cron: CronTimes;
}

export type Member = Awaited<ReturnType<typeof startMember>>;

const LAST_RUNS_MS = 3_500;
const LAST_WORDS_MS = 800;

/** Joins the fleet and begins to work. Rejects with DatabaseTrouble. */
export async function startMember(machine: Machine) {
  const { context, fleet, opened } = machine;
  const { clock, log, zone, topics } = context;
  const { database } = opened;
  const pace = new Pace(fleet.requests_per_second, { database, clock, log });
  const counts = new FleetCounts({ database, fleet, zone, clock });
  const membership = await Membership.join({ ...opened, clock, log, pace, counts });
  await membership.beat();
  const { number } = membership;
  const link = openLinkOf(number, machine);
  const claims = openClaims({ ...opened, clock }, membership.id, fleet.claim_seconds);
  // The clock tells the database's time by now.
  const schedule = openSchedule(machine.cron, clock.now());
  const openAccounts = new WeakMap();
  const parts: ProcessParts = { ...machine, pace, counts, membership, link, claims, schedule, openAccounts };
  startLink(parts);
  const worker = startWorker(fleet.claim_seconds, parts);
  const keeper = new Keeper(parts);
  const looking = new SingleFlight<void>();
  // The one that leaves last tells it, also before it has become the keeper. Where the database cannot say, the will does.
  const lastWords = [processMessage(topics, number, 'offline')];
  log.info({ process: number, claimSeconds: fleet.claim_seconds }, 'works for the fleet');

  return {
    number,
    parts,
    worker,

    /** The process beats every two seconds. Rejects with NumberTaken only. */
    async beat(): Promise<void> {
      await membership.beat();
      // A broker that does not answer must not stop the beat.
      void looking.run(() => keeper.look());
    },

    /** Work under way may come to its end. */
    stopRuns: (): Promise<void> => worker.stop(LAST_RUNS_MS),

    async leave(): Promise<void> {
      await looking.current;
      const othersLive = await membership.leave().catch(() => true);
      if (!othersLive) lastWords.unshift(stateMessage(topics, 'offline'));
      await keeper.stop();
    },

    sayGoodbye: (): Promise<void> => link.stop(lastWords, LAST_WORDS_MS),

    /** Ends without a word: what is told under this number is another process's by now. What was read is kept. */
    async giveUp(): Promise<void> {
      await link.stop([], LAST_WORDS_MS);
      await worker.stop(LAST_RUNS_MS);
      await looking.current;
      await keeper.stop();
    },
  };
}

function openLinkOf(number: number, { context, opened }: Machine): Link {
  const { config, topics } = context;
  const { mqtt } = config;
  return new Link({
    ...context,
    address: () => brokerAddress(mqtt, mqtt.url, `${opened.installation}_${number}`),
    will: processMessage(topics, number, 'offline'),
    subscriptions: processSubscriptions(topics),
  });
}

function startLink(parts: ProcessParts): void {
  const { membership, link, context } = parts;
  const { topics, config } = context;
  const requests = new Requests({
    ...context,
    link,
    mqtt: config.mqtt,
    branches: topics.branches,
    handlers: fleetHandlers(parts),
    transaction,
  });
  link.start({
    announcement: () => [processMessage(topics, membership.number, 'online')],
    onMessage: (incoming) => requests.onMessage(incoming),
  });
}

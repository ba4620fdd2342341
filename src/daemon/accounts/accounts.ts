// The accounts of a configuration, opened: each with its own session, journal, meters and ledgers.
import type { IssuerMemory } from '../../auth/oidc.ts';
import type { Account, Config } from '../../config/schema.ts';
import type { Invoice } from '../../domain/invoice.ts';
import type { Zone } from '../../domain/period.ts';
import type { Clock } from '../../foundation/clock.ts';
import type { Log, Scrubber } from '../../foundation/log.ts';
import type { StateDirectory } from '../../store/stateDirectory.ts';
import { type Tally, tallyRequest } from '../monitor/counters.ts';
import type { Turns } from '../polling/turns.ts';
import { type AccountParts, type AccountRuntime, openAccount } from './account.ts';
import { openExtras } from './extras.ts';
import { type Meter, openMeter } from './meter.ts';
import { type Journal, openJournal } from './pollHistory.ts';
import { openReplyLog, type ReplyLog } from './replyShapes.ts';
import { openUpstream } from './upstream.ts';

export interface HouseholdParts {
  readonly config: Config;
  readonly state: StateDirectory;
  readonly zone: Zone;
  readonly clock: Clock;
  readonly log: Log;
  readonly scrubber: Scrubber;
  /** Shared by all that asks the provider. */
  readonly turns: Turns;
  readonly tally: Tally;
  /** Called with each meter that is opened, before anything is done with it. */
  readonly onOpened: (meter: Meter) => Promise<void>;
  /** Called when an account's session or its meters may have changed. */
  readonly onChange: (account: string) => void;
  /** Called when an account has new invoices, oldest first. */
  readonly onBills: (account: string, bills: readonly Invoice[]) => void;
}

type InTurn = (step: () => Promise<void>) => Promise<void>;

/** What all accounts share. */
interface Common {
  readonly names: Pick<AccountParts, 'claimName' | 'releaseNames'>;
  readonly inTurn: InTurn;
  readonly journal: Journal;
  readonly replies: ReplyLog;
  readonly issuerMemory: IssuerMemory;
}

export async function openHousehold(parts: HouseholdParts): Promise<AccountRuntime[]> {
  const owners = new Map<string, string>();
  const claimName = (name: string, propertyCustomerId: string) => {
    const owner = owners.get(name) ?? propertyCustomerId;
    owners.set(name, owner);
    return owner === propertyCustomerId;
  };
  const releaseNames = (propertyCustomerId: string) => {
    for (const [name, owner] of owners) if (owner === propertyCustomerId) owners.delete(name);
  };
  const names = { claimName, releaseNames };
  let last = Promise.resolve();
  const inTurn: InTurn = (step) => {
    last = last.then(step).catch((err) => parts.log.error({ err }, 'extras not asked for'));
    return last;
  };
  const replies = await openReplyLog(parts.state, parts.clock, parts.log);
  const journal = await openJournal(parts.state, parts.zone, parts.clock, parts.log);
  const common = { names, inTurn, journal, replies, issuerMemory: { metadata: null } };
  const opened: AccountRuntime[] = [];
  // One after the other: of two properties with the same meter the first keeps its name.
  for (const account of parts.config.accounts) opened.push(await openOne(account, common, parts));
  return opened;
}

async function openOne(
  account: Account,
  { names, inTurn, replies, issuerMemory, ...common }: Common,
  { config, state, zone, clock, scrubber, turns, tally, ...parts }: HouseholdParts,
): Promise<AccountRuntime> {
  const { id } = account;
  const log = parts.log.child({ account: id });
  const journal = common.journal.page(id);
  const onChange = () => parts.onChange(id);
  const upstream = openUpstream({
    config,
    account,
    state,
    issuerMemory,
    clock,
    log,
    scrubber,
    onRequest(seen) {
      journal.countRequest();
      tallyRequest(tally, seen);
    },
    onLogin() {
      journal.countLogin();
      tally.logins += 1;
    },
    onRefresh() {
      tally.refreshes += 1;
    },
    onReply: replies.note,
    onChange,
  });
  const extras = await openExtras({
    config,
    account: id,
    upstream,
    inTurn,
    turns,
    onFound: onChange,
    onBills: (bills) => parts.onBills(id, bills),
    onAsked: () => journal.save(),
    zone,
    clock,
    log,
  });
  return openAccount({
    id,
    upstream,
    journal,
    extras,
    async openMeter(property, name, predecessor) {
      const cut = { usage: config.usage, zone };
      const meter = await openMeter({
        account: id,
        property,
        name,
        ...cut,
        state,
        clock,
        log,
        beside: () => ({ currency: extras.currency, register: extras.register(property) }),
        lastSuccessAt: () => journal.lastSuccessAt,
        onProgress: onChange,
      });
      if (predecessor?.ledger.complete) await meter.remember(predecessor.memory);
      await parts.onOpened(meter);
      return meter;
    },
    ...names,
    onMeters: onChange,
    clock,
    log,
  });
}

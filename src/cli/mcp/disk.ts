// The bridge's views as they are published, read from its disk beside a running daemon or without one. Nothing is asked,
// and nothing is written.
import type { AccountContext } from '../../accounts/context.ts';
import { Counters } from '../../accounts/metrics.ts';
import { openAccounts } from '../../accounts/openAccounts.ts';
import { openWitnesses } from '../../daemon/witnesses.ts';
import { concurrencyLimit } from '../../foundation/limits.ts';
import { Topics } from '../../publication/topics.ts';
import type { StateStore } from '../../store/stateStore.ts';
import type { Io } from '../command.ts';
import { weatherOnDisk } from '../onDisk.ts';
import type { Settings } from '../settings.ts';

/** An account by its place in the configuration: neither its id nor a number of a customer or meter reaches a model. */
export type NumberedAccount = Awaited<ReturnType<typeof readDisk>>[number];
export type NumberedMeter = NumberedAccount['meters'][number];

export async function readDisk(settings: Settings, { clock }: Io) {
  const { config, scrubber, log, zone } = settings;
  const state = readOnly(settings.state);
  const context: AccountContext = {
    config,
    clock,
    log,
    scrubber,
    random: Math.random,
    state,
    zone,
    topics: new Topics(config.mqtt.base_topic),
    counters: new Counters(),
    changed: () => undefined,
    outdoor: { weather: await weatherOnDisk(state, config) },
    witnessOf: (await openWitnesses({ ...settings, clock, state }, () => undefined)).of,
    limit: concurrencyLimit(1),
  };
  const accounts = await openAccounts(context, async () => undefined);
  // Meters are counted over all accounts.
  let count = 0;
  return accounts.map((account, at) => {
    const view = account.view();
    const meters = (account.meters ?? []).flatMap((meter) => {
      // One without a whole history has a number too: those of the others stay when it gets one, or loses it.
      count += 1;
      const ofMeter = meter.view();
      return ofMeter === null ? [] : { number: count, meter, view: ofMeter, account: view };
    });
    return { number: at + 1, account, view, meters };
  });
}

const readOnly = (state: StateStore): StateStore => ({
  fault: null,
  document: (name, codec) => ({
    read: () => state.document(name, codec).read(),
    write: async () => true,
    remove: async () => true,
  }),
  list: (folder) => state.list(folder),
  withLock: (_name, _clock, step) => step(false),
});

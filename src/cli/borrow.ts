// The way to the provider for a command that runs beside the daemon: it may borrow a valid key, never spend the session.
import type { Account } from '../config/schema.ts';
import { openUpstream, type Upstream } from '../daemon/accounts/upstream.ts';
import { systemClock } from '../foundation/clock.ts';
import { visitStateDirectory } from '../store/stateDirectory.ts';
import type { Io } from './io.ts';
import { openLog, type Settings } from './settings.ts';

const nothing = () => undefined;

export async function openReadOnlyUpstream(settings: Settings, account: Account, io: Io): Promise<Upstream> {
  const { config, scrubber } = settings;
  const log = await openLog({ level: 'silent', format: 'json' }, scrubber, io);
  return openUpstream({
    issuerMemory: { metadata: null },
    config,
    account,
    state: visitStateDirectory(config.state_dir, log),
    readOnly: true,
    clock: systemClock,
    log,
    scrubber,
    onRequest: nothing,
    onLogin: nothing,
    onRefresh: nothing,
    onChange: nothing,
  });
}

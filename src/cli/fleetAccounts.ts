// The accounts of a fleet, for a command that works on one household at a time: each as if it were one, read when its turn has come.
// Loaded with what it needs of PostgreSQL when it is wanted.
import { SeriesNames } from '../accounts/names.ts';
import type { Fleet } from '../config/schema.ts';
import { openFleet } from '../fleet/open.ts';
import { readAccounts } from '../fleet/roster.ts';
import { readStored } from '../store/database/storedAccount.ts';
import { wrongOption } from './command.ts';
import type { Household, Settings } from './settings.ts';

/** The order is that of the ids. `only`: the one of this id. Rejects with wrong_usage, or DatabaseTrouble. */
export async function* accountsOfFleet(
  settings: Settings,
  fleet: Fleet,
  only: unknown,
): AsyncGenerator<Household> {
  const opened = await openFleet(fleet, settings.log);
  try {
    const rows = await readAccounts(opened.database);
    const wanted = rows.filter(({ id }) => only === undefined || id === only);
    if (wanted.length === 0 && only !== undefined)
      throw wrongOption('--account', only, 'an id that `heat2mqtt accounts list` prints');
    for (const { id, history_since } of wanted)
      yield {
        id,
        async open() {
          const state = await readStored(id, opened);
          const account = { id, username: '', ...(history_since === null ? {} : { history_since }) };
          const names = Object.assign(new SeriesNames(), { nameOf: state.nameOf.bind(state) });
          return { ...settings, config: { ...settings.config, accounts: [account] }, state, names };
        },
      };
  } finally {
    await opened.close();
  }
}

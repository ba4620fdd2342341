// An account as the daemon opens it, on what the database has stored of it. It stays open between two runs of this process, as long as
// no other process has had it: days that were read, figures that were computed and tokens need not be taken up again.
import type { Account } from '../accounts/account.ts';
import type { AccountContext } from '../accounts/context.ts';
import { SeriesNames } from '../accounts/names.ts';
import { openAccounts, type SharedInFleet } from '../accounts/openAccounts.ts';
import type { Account as ConfiguredAccount } from '../config/schema.ts';
import { Secret } from '../config/secret.ts';
import type { Property } from '../domain/reading.ts';
import { EXIT, failure } from '../foundation/failure.ts';
import type { Claim, ClaimedRow } from '../store/database/claim.ts';
import type { Claims } from '../store/database/claims.ts';
import type { SeriesWords, StoredAccount } from '../store/database/storedAccount.ts';
import type { OpenFleet } from './open.ts';
import type { Pace } from './pace.ts';
import { loginOf } from './roster.ts';

/** Accounts stay open between two runs, and are forgotten with what is stored. */
export type OpenAccounts = WeakMap<StoredAccount, OpenAccount>;

interface OpenAccountParts {
  readonly context: Omit<AccountContext, 'state' | 'changed'>;
  readonly opened: Pick<OpenFleet, 'seal'>;
  readonly pace: Pace;
  readonly claims: Claims;
  readonly shared: SharedInFleet;
  readonly openAccounts: OpenAccounts;
}

export interface OpenAccount {
  readonly account: Account;
  readonly context: AccountContext;
  readonly ties: Ties;
}

/** An open account's ties to the fleet. */
interface Ties {
  /** The claim of the run under way. */
  claim: Claim;
  /** No other account reads any of its meters. */
  isAlone: boolean;
  /** The log must not show them while it is worked on. */
  readonly secrets: Set<string>;
}

/** Tokens bring as many within days. An account that has more is opened anew, and knows only those that it uses. */
const MOST_SECRETS = 100;

/** Runs the step on the account, which stays open where the step resolves to true. Rejects with damaged_login. */
export async function withAccount(
  claim: Claim,
  parts: OpenAccountParts,
  step: (open: OpenAccount) => Promise<boolean>,
): Promise<void> {
  const { openAccounts: stillOpen, context } = parts;
  const before = stillOpen.get(claim.stored);
  stillOpen.delete(claim.stored);
  const ties = before?.ties ?? { claim, isAlone: true, secrets: new Set<string>() };
  const { secrets } = ties;
  ties.claim = claim;
  try {
    for (const secret of secrets) context.scrubber.register(secret);
    const open = before ?? (await openAnew(ties, parts));
    const isWell = await step(open);
    // The right to read the meters of others is looked at only when an account is opened.
    if (isWell && ties.isAlone && secrets.size <= MOST_SECRETS) stillOpen.set(claim.stored, open);
  } finally {
    // The next accounts have secrets of their own.
    for (const secret of secrets) context.scrubber.forget(secret);
  }
}

async function openAnew(ties: Ties, parts: OpenAccountParts): Promise<OpenAccount> {
  const { shared, pace, claims } = parts;
  const { row, stored } = ties.claim;
  // Each is registered once: it is forgotten once.
  const register = (secret: string) => {
    if (ties.secrets.has(secret)) return;
    ties.secrets.add(secret);
    parts.context.scrubber.register(secret);
  };
  const scrubber = { ...parts.context.scrubber, register, registerToken: register };
  const context: AccountContext = {
    ...parts.context,
    scrubber,
    config: { ...parts.context.config, accounts: [configured(row, parts, scrubber)] },
    changed: () => undefined,
    state: stored,
  };
  const [account] = await openAccounts(context, (meter) => meter.book.restore(null), {
    ...shared,
    names: namesIn(ties),
    gate: (to) => pace.gateTo(to, () => ties.claim, claims),
  });
  if (account === undefined) throw new TypeError('no account was opened');
  stored.describe = (series) => wordsOf(account, series);
  return { account, context, ties };
}

/** The database says which account of the fleet reads a property, under a name that no other has. */
function namesIn(ties: Ties): SeriesNames {
  let readers: ReadonlyMap<string, string> = new Map();
  return Object.assign(new SeriesNames(), {
    claim: async (properties: readonly Property[]) => {
      // A poll that went on would take it for a failure of the account.
      readers = await ties.claim.takeSeries(properties).catch((err) => {
        ties.claim.stop(err);
        throw err;
      });
      ties.isAlone = readers.size === 0;
    },
    ownerOf: ({ propertyCustomerId }: Property, claimant: string) =>
      readers.get(propertyCustomerId) ?? claimant,
    nameOf: (property: Property) => ties.claim.stored.nameOf(property),
  });
}

function wordsOf({ meters, extras }: Account, series: string): SeriesWords {
  const meter = meters?.find(({ name }) => name === series);
  return {
    currency: extras.currency,
    friendlyName: meter?.friendlyName ?? null,
    ...(meter && { identifiers: meter.property.meterIdentifiers }),
  };
}

function configured(
  row: ClaimedRow,
  { opened }: OpenAccountParts,
  scrubber: AccountContext['scrubber'],
): ConfiguredAccount {
  const login = loginOf(row, opened.seal);
  if (login === undefined)
    throw failure('damaged_login', `The login of ${row.id} in the database cannot be opened.`, {
      exit: EXIT.config,
      retry: 'never',
      hint: 'Import this account again with `heat2mqtt accounts import`.',
    });
  const { username, password } = login;
  return {
    id: row.id,
    username,
    password: new Secret('database', async () => password, scrubber),
    ...(row.history_since !== null && { history_since: row.history_since }),
  };
}

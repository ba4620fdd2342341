// Accounts that stay open between two runs of this process, as long as no other process has had them: days that were read, figures that
// were computed and tokens need not be taken up again. What is read and written goes by the claim of the run that is under way.
import type { Account } from '../accounts/account.ts';
import type { AccountContext } from '../accounts/context.ts';
import { SeriesNames } from '../accounts/names.ts';
import { openAccounts } from '../accounts/openAccounts.ts';
import type { openReplyShapes } from '../accounts/pollHistory.ts';
import type { IssuerMemory } from '../auth/issuerClient.ts';
import type { Account as ConfiguredAccount } from '../config/schema.ts';
import { Secret } from '../config/secret.ts';
import type { Property } from '../domain/reading.ts';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, failure } from '../foundation/failure.ts';
import { concurrencyLimit } from '../foundation/limits.ts';
import type { Gate } from '../http/client.ts';
import type { ClaimedAccount } from '../store/database/claimedAccount.ts';
import type { ClaimedRow } from '../store/database/claimedRow.ts';
import type { Claims } from '../store/database/claims.ts';
import type { Codec, Document, StateStore } from '../store/stateStore.ts';
import type { OpenFleet } from './open.ts';
import type { Pace } from './pace.ts';
import { loginOf } from './roster.ts';

/** What all accounts share. */
export interface Shared {
  readonly issuerMemory: IssuerMemory;
  readonly onReply: Awaited<ReturnType<typeof openReplyShapes>>;
}

interface Parts {
  readonly context: Omit<AccountContext, 'state' | 'changed'>;
  readonly opened: Pick<OpenFleet, 'seal'>;
  readonly pace: Pace;
  readonly claims: Claims;
  readonly shared: Shared;
}

export interface OpenAccount {
  readonly account: Account;
  readonly context: AccountContext;
  readonly hold: Hold;
  /** What the log must not show while it is worked on. */
  readonly secrets: Set<string>;
}

/** So many come with tokens within days. An account that has more is opened anew, and knows only those that it uses. */
const MOST_SECRETS = 100;

/** What an account holds on to from run to run: the claim of the present one. */
class Hold implements StateStore {
  claim: ClaimedAccount;
  readonly fault = null;
  /** No other account reads any of its meters. */
  isAlone = true;

  constructor(claim: ClaimedAccount) {
    this.claim = claim;
  }

  document<T>(path: string, codec: Codec<T>): Document<T> {
    const present = () => this.claim.document(path, codec);
    return {
      read: () => present().read(),
      write: (value) => present().write(value),
      remove: () => present().remove(),
    };
  }

  list(): Promise<string[]> {
    return this.claim.list();
  }

  withLock<T>(name: string, clock: Clock, step: (isHeld: boolean) => Promise<T>): Promise<T> {
    return this.claim.withLock(name, clock, step);
  }

  /** The database says which account of the fleet reads a property, under a name that no other has. */
  names(): SeriesNames {
    let readers: ReadonlyMap<string, string> = new Map();
    return Object.assign(new SeriesNames(), {
      claim: async (properties: readonly Property[]) => {
        readers = await this.claim.takeSeries(properties);
        this.isAlone = readers.size === 0;
      },
      ownerOf: ({ propertyCustomerId }: Property, claimant: string) =>
        readers.get(propertyCustomerId) ?? claimant,
      nameOf: (property: Property) => this.claim.nameOf(property),
    });
  }
}

export class LastOpened {
  /** By what is kept of each: when that is forgotten, the account is as well. */
  readonly #all = new WeakMap<object, OpenAccount>();

  /** It is this run's: `keep` is to be called when all went well. Rejects with damaged_login. */
  async take(claim: ClaimedAccount, parts: Parts): Promise<OpenAccount> {
    const known = this.#all.get(claim.continuity);
    this.#all.delete(claim.continuity);
    if (known === undefined) return openOne(claim, parts);
    known.hold.claim = claim;
    for (const secret of known.secrets) parts.context.scrubber.register(secret);
    return known;
  }

  keep(open: OpenAccount): void {
    const { hold, secrets } = open;
    // Whether it may read the others is asked when it is opened.
    if (hold.isAlone && secrets.size <= MOST_SECRETS) this.#all.set(hold.claim.continuity, open);
  }
}

async function openOne(claim: ClaimedAccount, parts: Parts): Promise<OpenAccount> {
  const secrets = new Set<string>();
  try {
    return await openWith(secrets, claim, parts);
  } catch (err) {
    for (const secret of secrets) parts.context.scrubber.forget(secret);
    throw err;
  }
}

async function openWith(secrets: Set<string>, claim: ClaimedAccount, parts: Parts): Promise<OpenAccount> {
  const { context, shared, pace, claims } = parts;
  // Once each: it is forgotten once.
  const register = (secret: string) => {
    if (secrets.has(secret)) return;
    secrets.add(secret);
    context.scrubber.register(secret);
  };
  const hold = new Hold(claim);
  const scrubber = { ...context.scrubber, register, registerToken: register };
  const own: AccountContext = {
    ...context,
    scrubber,
    config: { ...context.config, accounts: [accountOf(claim.row, parts, scrubber)] },
    limit: concurrencyLimit(1),
    changed: () => undefined,
    state: hold,
  };
  const gate = (to: 'issuer' | 'provider'): Gate => pace.gateTo(to, () => hold.claim, claims);
  const [account] = await openAccounts(own, (meter) => meter.store.restore(null), {
    ...shared,
    names: hold.names(),
    gate,
  });
  if (account === undefined) throw new TypeError('no account was opened');
  return { account, context: own, hold, secrets };
}

function accountOf(
  row: ClaimedRow,
  { opened }: Parts,
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

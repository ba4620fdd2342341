// One login with user name and password, when the login budget allows it.
import { EXIT, Failure } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import type { LoginBudget, LoginBudgetRecord } from './loginBudget.ts';
import type { Issuer } from './oidc.ts';
import { LoginRefused, REFUSALS } from './refusals.ts';
import type { Grant } from './tokens.ts';

export interface Credentials {
  readonly username: string;
  /** Read anew for each login, so that a changed secret needs no restart. */
  readonly readPassword: () => Promise<string>;
  /** Whatever else a login is made of (issuer, client, scopes): a change of it frees the budget like a new password. */
  readonly context: string;
}

export interface Login {
  /** Rejects with LoginSuspended, LoginRefused or IssuerUnreachable. */
  attempt(): Promise<Grant>;
  /** The refusal that holds the next login back; reads the password to see whether it has changed. */
  suspendedBy(): Promise<LoginBudgetRecord | null>;
}

/** A refused login is not tried again yet. */
export class LoginSuspended extends Failure {
  readonly code: string;
  readonly exitCode = EXIT.credentials;
  readonly budget: LoginBudgetRecord;

  constructor(budget: LoginBudgetRecord) {
    const { nextAttemptAt } = budget;
    const next =
      nextAttemptAt === null
        ? 'none is tried until the password changes or somebody asks'
        : `the next one waits until ${new Date(nextAttemptAt).toISOString().slice(0, 19)}Z`;
    super(`The last login was refused; to keep the account from being locked, ${next}.`, {
      retry: 'never',
      hint: adviceOn(budget),
    });
    this.code = budget.code ?? 'bad_credentials_or_locked';
    this.budget = budget;
  }
}

// A typing mistake is the reader's to correct; anything else was advised on when it was refused.
function adviceOn({ code, nextAttemptAt }: LoginBudgetRecord): string {
  const refusal = Object.values(REFUSALS).find((row) => row.code === code);
  if (refusal !== undefined && refusal !== REFUSALS.badCredentials) return refusal.hint;
  const otherwise = nextAttemptAt === null ? 'press Poll now' : 'wait';
  return `Correct the user name or password (a changed password file is picked up while running), or ${otherwise}.`;
}

export function openLogin(issuer: Issuer, credentials: Credentials, budget: LoginBudget, log: Log): Login {
  return new PasswordLogin(issuer, credentials, budget, log);
}

class PasswordLogin implements Login {
  readonly #issuer: Issuer;
  readonly #credentials: Credentials;
  readonly #budget: LoginBudget;
  readonly #log: Log;

  constructor(issuer: Issuer, credentials: Credentials, budget: LoginBudget, log: Log) {
    this.#issuer = issuer;
    this.#credentials = credentials;
    this.#budget = budget;
    this.#log = log;
  }

  async attempt(): Promise<Grant> {
    const log = this.#log;
    const password = await this.#credentials.readPassword();
    const inForce = await this.#budget.inForce(this.#markable(password));
    if (inForce !== null) throw new LoginSuspended(inForce);
    try {
      const grant = await this.#issuer.login(this.#credentials.username, password);
      await this.#budget
        .accepted()
        .catch((fault) => log.error({ err: fault }, 'login budget could not be cleared'));
      return grant;
    } catch (err) {
      if (!(err instanceof LoginRefused)) throw err;
      log.error({ code: err.code, hint: err.hint }, 'login refused');
      await this.#budget
        .refused(err, this.#markable(password))
        .catch((fault) => log.error({ err: fault }, 'login budget could not be saved'));
      throw err;
    }
  }

  async suspendedBy(): Promise<LoginBudgetRecord | null> {
    return this.#budget.inForce(this.#markable(await this.#credentials.readPassword()));
  }

  #markable(password: string): string {
    const { username, context } = this.#credentials;
    return JSON.stringify([context, username, password]);
  }
}

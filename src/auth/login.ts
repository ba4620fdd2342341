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
  /** Whatever else a login depends on (issuer, client, scopes): a change resets the budget like a new password. */
  readonly context: string;
}

/** The last login was refused, and the next attempt is not due yet. */
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
      hint: hintFor(budget),
    });
    this.code = budget.code ?? 'bad_credentials_or_locked';
    this.budget = budget;
  }
}

// Any other refusal keeps its own hint: only wrong credentials can be corrected in the configuration.
function hintFor({ code, nextAttemptAt }: LoginBudgetRecord): string {
  const refusal = Object.values(REFUSALS).find((row) => row.code === code);
  if (refusal !== undefined && refusal !== REFUSALS.badCredentials) return refusal.hint;
  const otherwise = nextAttemptAt === null ? 'press Poll now' : 'wait';
  return `Correct the user name or password (a changed password file is picked up while running), or ${otherwise}.`;
}

export class Login {
  readonly #issuer: Pick<Issuer, 'login'>;
  readonly #credentials: Credentials;
  readonly #budget: LoginBudget;
  readonly #log: Log;

  constructor(issuer: Pick<Issuer, 'login'>, credentials: Credentials, budget: LoginBudget, log: Log) {
    this.#issuer = issuer;
    this.#credentials = credentials;
    this.#budget = budget;
    this.#log = log;
  }

  /** Rejects with LoginSuspended, LoginRefused, IssuerUnreachable, or the reason why the password cannot be read. */
  async attempt(): Promise<Grant> {
    const { username, readPassword } = this.#credentials;
    const password = await readPassword().catch(async (err) => {
      await this.#rejectIfSuspended(null);
      throw err;
    });
    await this.#rejectIfSuspended(password);
    const logged = (message: string) => (err: unknown) => this.#log.error({ err }, message);
    try {
      const grant = await this.#issuer.login(username, password);
      await this.#budget.accepted().catch(logged('login budget could not be cleared'));
      return grant;
    } catch (err) {
      if (!(err instanceof LoginRefused)) throw err;
      this.#log.error({ code: err.code, hint: err.hint }, 'login refused');
      await this.#budget
        .refused(err, this.#secret(password))
        .catch(logged('login budget could not be saved'));
      throw err;
    }
  }

  /**
   * The refusal that suspends the next login; `null` when it may be tried. Reads the password to see whether it has
   * changed; one that cannot be read has not.
   */
  async suspendedBy(): Promise<LoginBudgetRecord | null> {
    const password = await this.#credentials.readPassword().catch(() => null);
    return this.#refusalFor(password);
  }

  async #rejectIfSuspended(password: string | null): Promise<void> {
    const refusal = await this.#refusalFor(password);
    if (refusal !== null) throw new LoginSuspended(refusal);
  }

  #refusalFor(password: string | null): Promise<LoginBudgetRecord | null> {
    return this.#budget.inForce(password === null ? null : this.#secret(password));
  }

  /** Everything that the login budget must notice a change of. */
  #secret(password: string): string {
    const { username, context } = this.#credentials;
    return JSON.stringify([context, username, password]);
  }
}

// One login without a person: by password, or through the provider's login page; when the login budget allows it. The only
// door to otpauth.
import type { Failure } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import type { WayIn } from '../store/documents.ts';
import type { Document } from '../store/stateStore.ts';
import type { LoginBudget } from './loginBudget.ts';
import type { Suspension } from './loginRule.ts';
import { LoginSuspended, type TimeWords } from './loginSuspended.ts';
import type { Issuer } from './oidc.ts';
import { ISSUER_REFUSES, LoginRefused, REFUSALS, RefusedForNow } from './refusals.ts';
import type { Grant } from './tokens.ts';

/** `null`: there is none to be had. */
export type OneTimeCode = () => Promise<string | null>;

export type SignIn = 'auto' | 'password' | 'form' | 'device' | 'link';

/** The credentials that a person types for one attempt; they are not kept. */
export interface TypedCredentials {
  readonly username: string;
  readonly password: string;
  /** The one-time code; `null`: as configured. */
  readonly code: string | null;
}

/** The values that one attempt sends. */
export interface Credentials {
  readonly username: string;
  readonly password: string;
  readonly code: OneTimeCode | null;
}

export interface LoginDeps {
  readonly issuer: Pick<Issuer, 'login' | 'refresh' | 'offersDevice'>;
  /**
   * Signs in through the login page. Rejects with LoginRefused, RefusedForNow or issuer_unreachable. `null`: no address
   * to come back to is configured.
   */
  readonly form: ((credentials: Credentials) => Promise<Grant>) | null;
  readonly signIn: SignIn;
  /** Secrets are read again for each login, so that a changed one needs no restart. */
  readonly account: {
    readonly username: string;
    readonly password?:
      | {
          read(): Promise<string>;
          /** An oddity of it, as a sentence. */
          caution?(): Promise<string | null>;
        }
      | undefined;
    readonly totp_secret?: { read(): Promise<string> } | undefined;
  };
  /** The second factor: computed, or asked for. `null`: neither is possible. */
  readonly oneTimeCode: OneTimeCode | null;
  /** Whatever else a login depends on (issuer, client, scopes): a change resets the budget like a new password. */
  readonly context: string;
  readonly budget: LoginBudget;
  readonly wayIn: Document<WayIn>;
  readonly log: Log;
  readonly timeWords: TimeWords;
}

/** No password is configured that could be corrected. */
const TYPED_REFUSED = {
  ...REFUSALS.badCredentials,
  hint: "Check username and password by signing in once on the provider's own page, and type the one-time code too if it asks for one there. Or sign in in another way.",
};

export class Login {
  readonly #deps: LoginDeps;
  /** A login needs a person: the configuration says so. */
  readonly needsPerson: boolean;

  constructor(deps: LoginDeps) {
    const { signIn, account } = deps;
    this.#deps = deps;
    this.needsPerson = signIn === 'device' || signIn === 'link' || account.password === undefined;
  }

  /**
   * `onAttempt` is called when one may be tried. Rejects with LoginSuspended, LoginRefused, RefusedForNow,
   * issuer_unreachable, or the reason why a secret cannot be read.
   */
  async attempt(typed: TypedCredentials | null = null, onAttempt = () => {}): Promise<Grant> {
    const { issuer, account, oneTimeCode, budget, log } = this.#deps;
    if (typed === null && this.needsPerson) throw new LoginRefused(REFUSALS.noSession);
    const { password, secret } = await this.#credentials(typed).catch(async (err) => {
      await this.#rejectIfSuspended(null);
      throw err;
    });
    await this.#rejectIfSuspended(typed === null ? secret : null);
    onAttempt();
    const credentials = {
      username: typed?.username ?? account.username,
      password,
      code: typed?.code == null ? oneTimeCode : async () => typed.code,
    };
    // It is not noted yet: nothing is sent without an issuer.
    const offersDevice = await issuer.offersDevice();
    try {
      return await budget.attempt(secret, () => this.#signIn(credentials, offersDevice));
    } catch (err) {
      if (!(err instanceof LoginRefused)) throw err;
      const refusal = await this.#explained(err, typed);
      log.error({ code: refusal.code, hint: refusal.hint }, 'login refused');
      throw refusal;
    }
  }

  /**
   * The reason against the next login; `null` when it may be tried. Reads the secrets to see whether they have changed; one
   * that cannot be read has not.
   */
  async suspendedBy(): Promise<Suspension | null> {
    return this.#deps.budget.inForce(await this.#secretNow());
  }

  suspended(suspension: Suspension, caution: string | null = null): LoginSuspended {
    return new LoginSuspended(suspension, this.#deps.timeWords, !this.needsPerson, caution);
  }

  /** The tokens of the last login are of no use. */
  async useless(fault: Failure): Promise<void> {
    await this.#deps.budget.useless(fault, await this.#secretNow());
  }

  /**
   * `secret`: everything that the login budget must notice a change of. What is typed counts as what is configured:
   * otherwise each of the two would end the wait of the other.
   */
  async #credentials(typed: TypedCredentials | null): Promise<{ password: string; secret: string }> {
    const { account, context } = this.#deps;
    const reading = account.password?.read();
    // The configured password need not be readable if one is typed.
    const configured = await (typed === null ? reading : reading?.catch(() => undefined));
    const totp = account.totp_secret ? [await account.totp_secret.read()] : [];
    const password = typed?.password ?? configured ?? '';
    return { password, secret: JSON.stringify([context, account.username, configured, ...totp]) };
  }

  async #secretNow(): Promise<string | null> {
    if (this.#deps.account.password === undefined) return null;
    return this.#credentials(null).then(
      ({ secret }) => secret,
      () => null,
    );
  }

  async #rejectIfSuspended(secret: string | null): Promise<void> {
    const suspension = await this.#deps.budget.inForce(secret);
    if (suspension === null) return;
    const isOfPassword = suspension.code === REFUSALS.badCredentials.code;
    throw this.suspended(suspension, isOfPassword ? await this.#caution() : null);
  }

  async #caution(): Promise<string | null> {
    return (await this.#deps.account.password?.caution?.()) ?? null;
  }

  /** The reason why the password that was sent was refused, as far as that is known. */
  async #explained(refusal: LoginRefused, typed: TypedCredentials | null): Promise<LoginRefused> {
    if (refusal.code !== REFUSALS.badCredentials.code) return refusal;
    if (this.needsPerson) return new LoginRefused(TYPED_REFUSED);
    const odd = typed === null ? await this.#caution() : null;
    if (odd === null) return refusal;
    return new LoginRefused({ ...REFUSALS.badCredentials, hint: `${REFUSALS.badCredentials.hint} ${odd}` });
  }

  /** Signs in by password, or through the login page where that is how it has to be. */
  async #signIn(credentials: Credentials, offersDevice: boolean): Promise<Grant> {
    const { issuer, form, signIn, wayIn } = this.#deps;
    const lastWay = signIn === 'auto' && form !== null ? await wayIn.read() : null;
    if ((lastWay?.way ?? signIn) !== 'form') {
      try {
        return await issuer.login(credentials.username, credentials.password, credentials.code);
      } catch (err) {
        const isForbidden = err instanceof LoginRefused && err.code === REFUSALS.methodDisabled.code;
        if (!isForbidden || signIn === 'password') throw err;
        // A person could sign in some other way.
        if (form === null) throw offersDevice ? new LoginRefused(REFUSALS.loginNeeded) : err;
      }
    }
    if (form === null) throw new LoginRefused(REFUSALS.loginNeeded);
    try {
      const grant = await form(credentials);
      if (signIn === 'auto' && lastWay === null) await wayIn.write({ way: 'form' });
      return grant;
    } catch (err) {
      if (!(err instanceof LoginRefused) || err.about !== 'client') throw err;
      // The page of a realm that is switched off looks like that of an unknown client; the token endpoint tells them apart.
      const answer = await issuer.refresh('none').catch((fault: unknown) => fault);
      if (answer instanceof RefusedForNow && answer.code === ISSUER_REFUSES.code) throw answer;
      // The provider may have gone back to passwords.
      if (lastWay !== null) await wayIn.remove();
      throw err;
    }
  }
}

/** A one-time code (RFC 6238): `secret` in base32, `period` in seconds; `now` in epoch milliseconds. */
export async function codeAt(
  now: number,
  parameters: {
    readonly secret: string;
    readonly algorithm: string;
    readonly digits: number;
    readonly period: number;
  },
): Promise<string> {
  const { Secret, TOTP } = await import('otpauth');
  const secret = Secret.fromBase32(parameters.secret);
  return new TOTP({ ...parameters, secret }).generate({ timestamp: now });
}

// The error of a login that is not tried now says why, until when, and what to do about it.
import { EXIT, Failure } from '../foundation/failure.ts';
import { EXTRA_TRY_AFTER_MS, type Suspension } from './loginRule.ts';
import { REFUSALS, rowOf } from './refusals.ts';

/** An instant (epoch milliseconds) for a sentence, in full minutes. */
export type TimeWords = (instant: number) => string;

/** No login may be tried now: the last one was refused, or its tokens were of no use. */
export class LoginSuspended extends Failure {
  readonly suspension: Suspension;

  /** `isByItself`: the next login needs no person. `caution`: what is odd about the password. */
  constructor(suspension: Suspension, timeWords: TimeWords, isByItself: boolean, caution: string | null) {
    const hint = hintFor(suspension, timeWords, isByItself);
    super(suspension.code, wordsFor(suspension, timeWords), {
      exit: suspension.about === 'tokens' ? EXIT.provider : EXIT.credentials,
      retry: 'never',
      hint: caution === null ? hint : `${hint} ${caution}`,
    });
    this.suspension = suspension;
  }
}

// Rounded up, so that the time that was told is not too early.
const inMinutes = (instant: number, timeWords: TimeWords): string => timeWords(instant + 59_999);

function wordsFor({ about, state, code, message, nextAttemptAt }: Suspension, timeWords: TimeWords): string {
  const next = nextAttemptAt === null ? null : inMinutes(nextAttemptAt, timeWords);
  if (about === 'tokens')
    return `${message} Each login opens another session at the issuer: the next one waits until ${next}.`;
  const refused = message ?? rowOf(code, state)?.message ?? 'The last login was refused.';
  if (about === 'otherwise') return `${refused} The next login waits until ${next}.`;
  // Nothing is being protected: what was refused is all there is to say.
  if (about !== 'password') return refused;
  const event =
    state === 'backoff' ? 'The program ended in the middle of the last login' : 'The last login was refused';
  const then =
    next === null
      ? 'none is tried until the password changes or a poll is requested'
      : `the next one waits until ${next}`;
  return `${event}; to keep the account from being locked, ${then}.`;
}

// Any other refusal keeps its own hint: only wrong credentials can be corrected in the configuration.
function hintFor(
  { about, code, state, hint, nextAttemptAt, askedAt }: Suspension,
  timeWords: TimeWords,
  isByItself: boolean,
): string {
  if (hint !== undefined) return hint;
  const asked =
    askedAt === null || (about !== 'password' && about !== 'otherwise')
      ? ''
      : ` An extra try was asked for at ${timeWords(askedAt)}; the next one is possible from ${inMinutes(askedAt + EXTRA_TRY_AFTER_MS, timeWords)}.`;
  const refusal = rowOf(code, state);
  if (refusal !== undefined && refusal !== REFUSALS.badCredentials) return `${refusal.hint}${asked}`;
  if (!isByItself) return `Sign in in another way, or type the password again once the wait is over.${asked}`;
  const atOnce = asked === '' ? ', or press Poll now to try at once' : '';
  const otherwise = nextAttemptAt === null ? 'press Poll now' : `wait${atOnce}`;
  if (state === 'backoff') return `Nothing needs to be done: ${otherwise}.${asked}`;
  return `Correct the user name or password (a changed password file is picked up while running), or ${otherwise}.${asked}`;
}

// How the bridge is, in words: reasons with hints, sessions, polls, and how far it has come with what takes long.
import { ago, number, plural, timeWords } from './format.ts';
import { type Health, store } from './store.ts';
import { Fact } from './widgets.tsx';

const VERDICTS = { ok: 'All is well', degraded: 'Working, with a fault', failing: 'Not working' };

export const SESSIONS: Readonly<Record<string, string>> = {
  ok: 'Signed in',
  refreshing: 'Signing in',
  backoff: 'Waiting before the next sign-in',
  bad_credentials_or_locked: 'Password refused, or the account is locked',
  needs_user_action: 'The provider wants something from you',
  method_disabled: 'The provider does not allow this way of signing in',
  login_needed: 'You need to sign in',
  provider_down: 'The provider cannot be reached',
};

const isWell = (state: string): boolean => state === 'ok' || state === 'refreshing';
const when = (at: string | null) => at && `${ago(at)}, ${timeWords(at)}`;

export function Status() {
  const health = store.get<Health>('bridge/health');
  if (!health)
    return <p class="empty">{store.isReady ? 'The bridge has not said how it is.' : 'Loading …'}</p>;
  const { state, reasons, last_poll_at, last_success_at, next_poll_at } = health;
  return (
    <>
      <p class={`verdict ${state}`}>
        {state !== 'ok' && last_success_at === null ? 'Not working yet' : VERDICTS[state]}
      </p>
      <ul class="reasons">
        {reasons.map(({ code, message, hint, account, meter }) => (
          <li key={`${code} ${account} ${meter}`}>
            {message} {hint && <small>{hint}</small>}
          </li>
        ))}
      </ul>
      <Progress health={health} />
      <dl class="facts">
        <Fact name="Last poll" why="none yet">
          {when(last_poll_at)}
        </Fact>
        {last_success_at !== last_poll_at && (
          <Fact name="Last one that worked" why="none yet">
            {when(last_success_at)}
          </Fact>
        )}
        <Fact name="Next poll" why="none is planned">
          {when(next_poll_at)}
        </Fact>
        <Sessions health={health} />
        <Fact name="Today">
          {plural(health.requests_today, 'request', 'requests')},{' '}
          {plural(health.logins_today, 'sign-in', 'sign-ins')}
        </Fact>
      </dl>
    </>
  );
}

/** Of many accounts only those that are not well are told one by one. */
function Sessions({ health }: { health: Health }) {
  const all = Object.entries(health.auth);
  const told = all.length > 3 ? all.filter(([, { state }]) => !isWell(state)) : all;
  return (
    <>
      {told.map(([account, { state, next_attempt_at, access_expires_at }]) => (
        <Fact key={account} name={`Session of ${account}`}>
          {SESSIONS[state] ?? state}
          <small>
            {isWell(state)
              ? access_expires_at && `renewed before ${timeWords(access_expires_at)}`
              : attemptWords(state, next_attempt_at)}
          </small>
        </Fact>
      ))}
      {told.length < all.length && (
        <Fact name="Sessions">
          {all.length - told.length} of {all.length} accounts are signed in
        </Fact>
      )}
    </>
  );
}

/** While the provider is down the next poll tries, whenever that is. */
function attemptWords(state: string, nextAt: string | null): string {
  if (nextAt !== null) return `next attempt: ${when(nextAt)}`;
  return state === 'provider_down' ? 'tried again at the next poll' : 'next attempt: none is planned';
}

function Progress({ health: { progress, statistics } }: { health: Health }) {
  const total = progress.reduce((sum, { days_total }) => sum + days_total, 0);
  const read = progress.reduce((sum, { days_read }) => sum + days_read, 0);
  const { state, series, rows_stored, rows_total } = statistics ?? {};
  const bar = (words: string, done: number, all: number, unit: string) => (
    <label class="progress">
      {words}: {number(done, 0)} of {number(all, 0)} {unit}
      <progress max={all} value={done} />
    </label>
  );
  return (
    <>
      {total > 0 && bar('Reading the history', read, total, 'days')}
      {state === 'importing' &&
        rows_total &&
        bar(`Home Assistant’s statistics, ${series}`, rows_stored ?? 0, rows_total, 'rows')}
      {state === 'failing' && <p class="late">Home Assistant’s statistics cannot be written at present.</p>}
    </>
  );
}

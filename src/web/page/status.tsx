// How the bridge is, in words: reasons with hints, sessions, polls, and how far it has come with what takes long.
import { ago, number, timeWords } from './format.ts';
import type { Health, Store } from './store.ts';
import { Fact } from './widgets.tsx';

const VERDICTS = { ok: 'All is well', degraded: 'Working, with a fault', failing: 'Not working' };

const SESSIONS: Readonly<Record<string, string>> = {
  ok: 'Signed in',
  refreshing: 'Signed in, being renewed',
  backoff: 'Waiting before the next sign-in',
  bad_credentials_or_locked: 'Password refused, or the account is locked',
  needs_user_action: 'The provider wants something from you',
  method_disabled: 'The provider does not allow this way of signing in',
  login_needed: 'You need to sign in',
  provider_down: 'The provider cannot be reached',
};

export const isWell = (state: string): boolean => state === 'ok' || state === 'refreshing';

export function Status({ store, now }: { store: Store; now: number }) {
  const health = store.get<Health>('bridge/health');
  if (!health)
    return <p class="empty">{store.isReady ? 'The bridge has not said how it is.' : 'Loading …'}</p>;
  const when = (at: string | null) => at && `${ago(at, now)}, ${timeWords(at, now)}`;
  return (
    <>
      <p class={`verdict ${health.state}`}>{VERDICTS[health.state]}</p>
      {health.reasons.length > 0 && (
        <ul class="reasons">
          {health.reasons.map(({ code, message, hint, account, meter }) => (
            <li key={`${code} ${account} ${meter}`}>
              {message} {hint && <small>{hint}</small>}
            </li>
          ))}
        </ul>
      )}
      <Progress health={health} />
      <dl class="facts">
        <Fact name="Last poll" why="none yet">
          {when(health.last_poll_at)}
        </Fact>
        {health.last_success_at !== health.last_poll_at && (
          <Fact name="Last one that worked" why="none yet">
            {when(health.last_success_at)}
          </Fact>
        )}
        <Fact name="Next poll" why="none is planned">
          {when(health.next_poll_at)}
        </Fact>
        <Sessions {...{ health, now }} />
        <Fact name="Asked today">
          {number(health.requests_today, 0)} requests, {number(health.logins_today, 0)} sign-ins
        </Fact>
      </dl>
    </>
  );
}

/** Of many accounts only those that are not well are told one by one. */
function Sessions({ health, now }: { health: Health; now: number }) {
  const all = Object.entries(health.auth);
  const told = all.length > 3 ? all.filter(([, { state }]) => !isWell(state)) : all;
  return (
    <>
      {told.map(([account, { state, next_attempt_at, access_expires_at }]) => (
        <Fact key={account} name={`Session of ${account}`}>
          {SESSIONS[state] ?? state}
          {isWell(state) ? (
            access_expires_at && <small> renewed before {timeWords(access_expires_at, now)}</small>
          ) : (
            <small>
              {' '}
              {next_attempt_at
                ? `next attempt ${ago(next_attempt_at, now)}, ${timeWords(next_attempt_at, now)}`
                : 'no attempt is planned'}
            </small>
          )}
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

function Progress({ health: { progress, statistics } }: { health: Health }) {
  const { series = null, rows_stored = null, rows_total = null } = statistics ?? {};
  const total = progress.reduce((sum, { days_total }) => sum + days_total, 0);
  const read = progress.reduce((sum, { days_read }) => sum + days_read, 0);
  return (
    <>
      {total > 0 && (
        <label class="progress">
          Reading the history: {number(read, 0)} of {number(total, 0)} days
          <progress max={total} value={read} />
        </label>
      )}
      {statistics?.state === 'importing' && rows_total !== null && (
        <label class="progress">
          Home Assistant’s statistics: {series}, {number(rows_stored, 0)} of {number(rows_total, 0)} rows
          <progress max={rows_total} value={rows_stored ?? 0} />
        </label>
      )}
      {statistics?.state === 'failing' && <p>Home Assistant’s statistics cannot be written at present.</p>}
    </>
  );
}

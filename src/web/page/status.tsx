// How the bridge is, in words: reasons with hints, sessions, polls, and how far it has come with what takes long.
import { type Health, store } from './store.ts';
import { type Fact, Facts } from './widgets.tsx';
import { joined, say, sayCount, sessionWords, tell } from './words.ts';

export function Status() {
  const health = store.get<Health>('bridge/health');
  if (!health) return <p class="empty">{say(store.isReady ? 'status.unknown' : 'loading')}</p>;
  const { state, reasons, last_poll_at, last_success_at, next_poll_at } = health;
  const isNotYet = state !== 'ok' && last_success_at === null;
  const poll = (key: 'lastPoll' | 'lastGood' | 'nextPoll', at: string | null, why: string): Fact =>
    at === null ? [say(`status.${key}`), null, why] : [say(`status.${key}`), say('when', { at })];
  const today = [sayCount('requests', health.requests_today), sayCount('signIns', health.logins_today)];
  return (
    <>
      <p class={`verdict ${state}`}>{say(isNotYet ? 'status.notYet' : `status.${state}`)}</p>
      <ul class="reasons">
        {reasons.map(({ code, message, hint, account, meter }) => (
          <li key={`${code} ${account} ${meter}`}>
            {message} {hint && <small>{hint}</small>}
          </li>
        ))}
      </ul>
      <Progress {...health} />
      <Facts
        facts={[
          poll('lastPoll', last_poll_at, say('status.noPoll')),
          last_success_at !== last_poll_at && poll('lastGood', last_success_at, say('status.noPoll')),
          poll('nextPoll', next_poll_at, say('status.nonePlanned')),
          ...sessionFacts(health),
          [say('status.today'), joined(today)],
        ]}
      />
    </>
  );
}

/** Of many accounts only those that are not well are told one by one. */
function sessionFacts({ auth }: Health): Fact[] {
  const all = Object.entries(auth);
  const told = all.length > 3 ? all.filter(([, { state }]) => !isWell(state)) : all;
  const count = all.length - told.length;
  const facts = told.map(([account, session]): Fact => {
    const note = isWell(session.state) ? tell('status.renewed', session) : attemptWords(session);
    return [say('status.session', { account }), sessionWords(session.state), note];
  });
  if (count === 0) return facts;
  return [...facts, [say('status.sessions'), say('status.signedIn', { count, all: all.length })]];
}

const isWell = (state: string): boolean => state === 'ok' || state === 'refreshing';

/** While the provider is down the next poll tries, whenever that is. */
const attemptWords = (session: Health['auth'][string]): string =>
  tell('status.nextAttempt', session) ??
  say(session.state === 'provider_down' ? 'status.nextPollTries' : 'status.noAttempt');

function Progress({ progress, statistics }: Health) {
  const sum = (of: 'days_total' | 'days_read') => progress.reduce((all, one) => all + one[of], 0);
  const { state, series, rows_stored, rows_total } = statistics ?? {};
  const bar = (unit: 'days' | 'rows', what: string, done: number, all: number) =>
    all > 0 && (
      <label class="progress">
        {say(`progress.${unit}`, { what, done, all })}
        <progress max={all} value={done} />
      </label>
    );
  return (
    <>
      {bar('days', say('status.history'), sum('days_read'), sum('days_total'))}
      {state === 'importing' &&
        bar('rows', say('status.statistics', { series }), rows_stored ?? 0, rows_total ?? 0)}
      {state === 'failing' && <p class="late">{say('status.noStatistics')}</p>}
    </>
  );
}

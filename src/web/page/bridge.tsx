// The bridge: how it is in words, what can be asked of it, each with what came of it, and its log.
import { useState } from 'preact/hooks';
import type { DashboardChange } from './answers.ts';
import { beginningOf, daysOfHistory } from './beginning.ts';
import { ask, type Constituencies, type Health, type State, store } from './store.ts';
import { Button, type Fact, Facts, Scroll, Sender, sentence, Table, useSearch } from './widgets.tsx';
import { joined, say, sayCount, sessionWords, tell, write } from './words.ts';

export function Status() {
  const health = store.get('bridge/health');
  if (!health) return sentence(store.isReady ? 'status.unknown' : 'loading', 'empty');
  const { state, reasons, last_poll_at, last_success_at, next_poll_at } = health;
  const isOneOfMany = Object.keys(health.auth).length > 1;
  const isNotYet = state !== 'ok' && last_success_at === null;
  const verdict = isNotYet ? 'notYet' : state;
  const word = beginningOf(health) === null ? verdict : 'beginning';
  const poll = (
    key: 'lastPoll' | 'lastGood' | 'nextPoll',
    at: string | null,
    why = say('status.noPoll'),
  ): Fact => [say(`status.${key}`), at && say('when', { at }), at === null && why];
  const today = [sayCount('requests', health.requests_today), sayCount('signIns', health.logins_today)];
  const facts = [
    poll('lastPoll', last_poll_at),
    last_success_at === last_poll_at ? null : poll('lastGood', last_success_at),
    poll('nextPoll', next_poll_at, say('status.nonePlanned')),
    ...sessionFacts(health),
    [say('status.today'), joined(today)] as const,
  ];
  return (
    <>
      <p class={`verdict ${state}`}>{say(`status.${word}`)}</p>
      <ul class="reasons">
        {reasons.map(({ code, message, hint, account, meter }) => (
          <li key={`${code} ${account} ${meter}`}>
            {isOneOfMany && account && <b>{account}: </b>}
            {message} {hint && <small>{hint}</small>}
          </li>
        ))}
      </ul>
      <Progress {...health} />
      <Facts facts={facts} />
    </>
  );
}

/** A page with many accounts shows only those one by one that are not well. */
function sessionFacts({ auth }: Health): Fact[] {
  const sessions = Object.entries(auth);
  const isWell = (state: string) => state === 'ok' || state === 'refreshing';
  const shown = sessions.length > 3 ? sessions.filter(([, { state }]) => !isWell(state)) : sessions;
  const count = sessions.length - shown.length;
  const facts = shown.map(([account, session]): Fact => {
    const { state } = session;
    // While the provider is down the next poll tries, whenever that is.
    const unplanned = say(state === 'provider_down' ? 'status.nextPollTries' : 'status.noAttempt');
    const note = isWell(state)
      ? tell('status.renewed', session)
      : (tell('status.nextAttempt', session) ?? unplanned);
    return [say('status.session', { account }), sessionWords(state), note];
  });
  const others = say('status.signedIn', { count, all: sessions.length });
  return count === 0 ? facts : [...facts, [say('status.sessions'), others]];
}

function Progress({ progress, statistics }: Health) {
  const history = daysOfHistory(progress);
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
      {bar('days', say('status.history'), history.done, history.all)}
      {state === 'importing' &&
        bar('rows', say('status.statistics', { series }), rows_stored ?? 0, rows_total ?? 0)}
      {state === 'failing' && sentence('status.noStatistics', 'late')}
    </>
  );
}

interface Answer {
  readonly status: string;
  readonly data?: State;
  readonly error?: { readonly message: string; readonly hint?: string };
}

/** Sends a request of this name, and says what came of it. */
async function request(name: string, parameters = {}): Promise<string> {
  const { status, data = null, error } = await ask<Answer>('POST', `request/${name}`, parameters);
  const accounts = (data?.accounts ?? []) as readonly { changes: number; error?: Answer['error'] }[];
  const fault = error ?? accounts.find((account) => account.error)?.error;
  if (fault) return `${fault.message} ${fault.hint ?? ''}`;
  if (status === 'skipped') return say('poll.asked');
  if (typeof data?.count === 'number') return sayCount('constituencies.found', data.count);
  const changes = accounts.reduce((sum, account) => sum + account.changes, 0);
  return changes === 0 ? say('poll.nothingNew') : sayCount('poll.new', changes);
}

/** Requests that poll share one cooldown. */
const pollPossibleAt = () => store.get('bridge/health')?.poll_now_at ?? null;

export const PollNow = () => (
  <Sender label="poll.now" isMain possibleAt={pollPossibleAt()} onSend={() => request('refresh')} />
);

export const ReadAgain = () => (
  <>
    {sentence('readAgain.what')}
    <Sender
      fields={['from', 'to']}
      label="readAgain.send"
      possibleAt={pollPossibleAt()}
      onSend={(typed) => request('backfill', typed)}
    />
  </>
);

/** The configured list, else the newest one that is kept. */
function newestList(): Constituencies | null {
  const { topic } = store.get('bridge/constituencies') ?? {};
  const [chamber = '', house = ''] = topic?.split('/').slice(-2) ?? [];
  const lists = store.below<Constituencies>('constituencies/');
  const [newest] = [...lists].sort((a, b) => (a.fetched_at < b.fetched_at ? 1 : -1));
  return store.get('constituencies/<chamber>/<house_no>', chamber, house) ?? newest ?? null;
}

export function ConstituencyTable() {
  const [search, isFound] = useSearch('filter');
  const list = newestList();
  const rows = (list?.constituencies ?? [])
    .map(({ uri, name, code, house }) => ({ key: uri, cells: [name, code, house.name] }))
    .filter(({ cells }) => isFound(cells.join(' ')));
  return (
    <>
      {sentence('constituencies.why')}
      <div class="fields">
        <Sender label="constituencies.refresh" onSend={() => request('constituencies')} />
        {search}
      </div>
      {list === null && sentence('constituencies.notYet', 'empty')}
      {list && (
        <>
          <p>
            {say('constituencies.count', { ...list, shown: rows.length })}{' '}
            {list.stale && say('constituencies.stale')}
          </p>
          {rows.length === 0 && sentence('constituencies.none', 'empty')}
          <Table
            name="constituencies.title"
            head={['constituencies.name', 'constituencies.code', 'constituencies.house']}
            rows={rows}
          />
        </>
      )}
    </>
  );
}

/** The change is shown, and made when it is pressed for once more. */
export function EnergyDashboard() {
  const { statistics } = store.get('bridge/health') ?? {};
  const [shown, setShown] = useState<DashboardChange | null>(null);
  const look = async () => {
    const change = await ask<DashboardChange>('GET', 'energy-dashboard');
    const refusals = change.refusals.join(' ');
    if (change.added.length === 0) return refusals || say('dashboard.there');
    setShown(change);
    return refusals;
  };
  const add = async ({ digest }: DashboardChange) => {
    setShown(null);
    await ask('POST', 'energy-dashboard', { digest });
    return say('dashboard.done');
  };
  const { added = [], cautions = [] } = shown ?? {};
  const facts = added.map(
    ({ name, energy, cost }): Fact => [
      name === null ? say('dashboard.toAdd') : say('dashboard.toAddAs', { name }),
      energy,
      cost && say('dashboard.cost', { cost }),
    ],
  );
  return (
    <>
      {sentence('dashboard.what')}
      {statistics?.hours === 'even' && sentence('dashboard.even')}
      {shown && <Facts facts={facts} />}
      {cautions.map((caution) => (
        <p key={caution} class="late">
          {caution}
        </p>
      ))}
      <div class={shown ? 'fields' : ''}>
        <Sender
          label={shown ? 'dashboard.confirm' : 'dashboard.add'}
          isMain={shown !== null}
          onSend={() => (shown ? add(shown) : look())}
        />
        {shown && <Button label={say('signIn.cancel')} onClick={() => setShown(null)} />}
      </div>
    </>
  );
}

export function Log() {
  const [search, isFound] = useSearch('filter');
  const lines = store.log.filter(({ level = '', message }) => isFound(`${level} ${message}`));
  return (
    <>
      {search}
      <Scroll name="log.lines" kind="log">
        {lines.length === 0 && sentence(store.log.length > 0 ? 'log.none' : 'log.empty', 'empty')}
        {[...lines].reverse().map(({ time, level, message }, index) => (
          <p key={lines.length - index} class={level}>
            <time>{write('clock', time)}</time> <b>{level}</b> {message}
          </p>
        ))}
      </Scroll>
    </>
  );
}

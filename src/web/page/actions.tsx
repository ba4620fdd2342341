// What can be asked of the bridge, each with what came of it: a poll, days again, constituencies, the Energy dashboard. And its log.
import { useState } from 'preact/hooks';
import type { DashboardChange } from './answers.ts';
import { ask, type Constituencies, type Health, type Info, type State, store, textOf } from './store.ts';
import { Facts, has, Result, Scroll, Search, Table, typedIn, useSending } from './widgets.tsx';
import { clockWords, dayIn, say, sayCount } from './words.ts';

interface Answer {
  readonly status: string;
  readonly data?: State;
  readonly error?: { readonly message: string; readonly hint?: string };
}

/** Today, there where the meters are. */
export const today = (): string => dayIn(store.get<Info>('bridge/info')?.timezone ?? 'UTC', Date.now());

/** A request by its name: what came of it, in words and as data, and from when on the same is possible again. */
function useRequest(name: string, possibleAt: string | null = null) {
  const { words, isBusy, send } = useSending();
  const [data, setData] = useState<State | null>(null);
  const nextAt = possibleAt ?? textOf(data, 'next_at');
  const hasToWait = !isBusy && nextAt !== null && Date.parse(nextAt) > Date.now();
  return {
    data,
    words: hasToWait ? `${words || say('poll.asked')} ${say('poll.possible', { at: nextAt })}` : words,
    isDisabled: isBusy || hasToWait,
    ask: (parameters: object = {}) =>
      send(async () => {
        const answer = await ask<Answer>('POST', `request/${name}`, parameters);
        setData(answer.data ?? null);
        return wordsOf(answer);
      }),
  };
}

function wordsOf({ status, data, error }: Answer): string {
  if (error) return `${error.message} ${error.hint ?? ''}`;
  if (status === 'skipped') return '';
  if (typeof data?.count === 'number') return sayCount('constituencies.found', data.count);
  const accounts = (data?.accounts ?? []) as readonly { changes: number; error?: Answer['error'] }[];
  const failed = accounts.find((account) => account.error)?.error;
  if (failed) return `${failed.message} ${failed.hint ?? ''}`;
  const changes = accounts.reduce((sum, account) => sum + account.changes, 0);
  return changes === 0 ? say('poll.nothingNew') : sayCount('poll.new', changes);
}

/** Of requests that poll: they share one cooldown. */
const pollPossibleAt = () => store.get<Health>('bridge/health')?.poll_now_at ?? null;

export function PollNow() {
  const request = useRequest('refresh', pollPossibleAt());
  return (
    <>
      <button type="button" class="main" disabled={request.isDisabled} onClick={() => request.ask()}>
        {say('poll.now')}
      </button>
      <Result words={request.words} />
    </>
  );
}

export function ReadAgain() {
  const request = useRequest('backfill', pollPossibleAt());
  const [from, setFrom] = useState('');
  return (
    <form onSubmit={(event) => request.ask(typedIn(event))}>
      <p>{say('readAgain.what')}</p>
      <div class="fields">
        <label>
          {say('readAgain.from')}
          <input
            type="date"
            name="from"
            required
            max={today()}
            onInput={({ currentTarget }) => setFrom(currentTarget.value)}
          />
        </label>
        <label>
          {say('readAgain.to')}
          <input type="date" name="to" min={from} max={today()} />
        </label>
        <button type="submit" disabled={request.isDisabled}>
          {say('readAgain.send')}
        </button>
      </div>
      <Result words={request.words} />
    </form>
  );
}

/** The configured list, else the newest one that is kept, or has just been answered. */
function newestList(answered: State | null): Constituencies | null {
  const base = store.get<Info>('bridge/info')?.base_topic ?? '';
  const topic = textOf(store.get('bridge/constituencies'), 'topic') ?? '';
  const kept = store.below<Constituencies>('constituencies/');
  const usual = store.get<Constituencies>(topic.slice(base.length + 1));
  const [newest] = [...kept].sort((a, b) => (a.fetched_at < b.fetched_at ? 1 : -1));
  const given = answered?.constituencies ? (answered as unknown as Constituencies) : null;
  return usual ?? newest ?? given;
}

export function ConstituencyTable() {
  const request = useRequest('constituencies');
  const [search, setSearch] = useState('');
  const list = newestList(request.data);
  const rows = (list?.constituencies ?? [])
    .map(({ uri, name, code, house }) => ({ key: uri, cells: [name, code, house.name] }))
    .filter(({ cells }) => has(cells.join(' '), search));
  const head = [say('constituencies.name'), say('constituencies.code'), say('constituencies.house')];
  return (
    <>
      <p>{say('constituencies.why')}</p>
      <div class="fields">
        <button type="button" disabled={request.isDisabled} onClick={() => request.ask()}>
          {say('constituencies.refresh')}
        </button>
        <Search name={say('filter')} onInput={setSearch} />
      </div>
      <Result words={request.words} />
      {list ? (
        <>
          <p>
            {say('constituencies.count', { ...list, shown: rows.length })}{' '}
            {list.stale && say('constituencies.stale')}
          </p>
          {rows.length === 0 && <p class="empty">{say('constituencies.none')}</p>}
          <Table name={say('constituencies.title')} {...{ head, rows }} />
        </>
      ) : (
        <p class="empty">{say('constituencies.notYet')}</p>
      )}
    </>
  );
}

/** The change is shown, and made when it is pressed for once more. */
export function EnergyDashboard() {
  const { words, isBusy, send } = useSending();
  const [shown, setShown] = useState<DashboardChange | null>(null);
  const look = async () => {
    const found = await ask<DashboardChange>('GET', 'energy-dashboard');
    if (found.added.length > 0) setShown(found);
    else if (found.refusals.length === 0) return say('dashboard.there');
    return found.refusals.join(' ');
  };
  const add = async ({ digest }: DashboardChange) => {
    setShown(null);
    await ask('POST', 'energy-dashboard', { digest });
    return say('dashboard.done');
  };
  return (
    <>
      <p>{say('dashboard.what')}</p>
      {shown === null ? (
        <button type="button" disabled={isBusy} onClick={() => send(look)}>
          {say('dashboard.add')}
        </button>
      ) : (
        <>
          <Facts
            facts={shown.added.map(({ name, energy, cost }) => [
              name === null ? say('dashboard.toAdd') : say('dashboard.toAddAs', { name }),
              energy,
              cost && say('dashboard.cost', { cost }),
            ])}
          />
          {shown.cautions.map((caution) => (
            <p key={caution} class="late">
              {caution}
            </p>
          ))}
          <div class="fields">
            <button type="button" class="main" onClick={() => send(() => add(shown))}>
              {say('dashboard.confirm')}
            </button>
            <button type="button" onClick={() => setShown(null)}>
              {say('signIn.cancel')}
            </button>
          </div>
        </>
      )}
      <Result words={words} />
    </>
  );
}

export function Log() {
  const [search, setSearch] = useState('');
  const lines = store.log.filter(({ level = '', message }) => has(`${level} ${message}`, search));
  return (
    <>
      <Search name={say('filter')} onInput={setSearch} />
      <Scroll name={say('log.lines')} kind="log">
        {lines.length === 0 && <p class="empty">{say(store.log.length > 0 ? 'log.none' : 'log.empty')}</p>}
        {[...lines].reverse().map(({ time, level, message }, index) => (
          <p key={lines.length - index} class={level}>
            <time>{clockWords(time)}</time> <b>{level}</b> {message}
          </p>
        ))}
      </Scroll>
    </>
  );
}

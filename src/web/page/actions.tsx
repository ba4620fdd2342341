// What can be asked of the bridge, each with what came of it: a poll, days again, constituencies, the Energy dashboard. And its log.
import { useState } from 'preact/hooks';
import type { DashboardChange } from './answers.ts';
import { ask, type Constituencies, type Health, type Info, type State, store, textOf } from './store.ts';
import { Button, Facts, Scroll, Sender, Table, useSearch, useSending } from './widgets.tsx';
import { say, sayCount, write } from './words.ts';

interface Answer {
  readonly status: string;
  readonly data?: State;
  readonly error?: { readonly message: string; readonly hint?: string };
}

/** Sends a request of this name, and says what came of it. `onData`: is told its data. */
async function request(
  name: string,
  parameters: object = {},
  onData: (data: State | null) => void = () => {},
): Promise<string | Date> {
  const { status, data = null, error } = await ask<Answer>('POST', `request/${name}`, parameters);
  onData(data);
  const accounts = (data?.accounts ?? []) as readonly { changes: number; error?: Answer['error'] }[];
  const fault = error ?? accounts.find((account) => account.error)?.error;
  if (fault) return `${fault.message} ${fault.hint ?? ''}`;
  if (status === 'skipped') return new Date(String(data?.next_at));
  if (typeof data?.count === 'number') return sayCount('constituencies.found', data.count);
  const changes = accounts.reduce((sum, account) => sum + account.changes, 0);
  return changes === 0 ? say('poll.nothingNew') : sayCount('poll.new', changes);
}

/** Of requests that poll: they share one cooldown. */
const pollPossibleAt = () => store.get<Health>('bridge/health')?.poll_now_at ?? null;

export const PollNow = () => (
  <Sender label={say('poll.now')} isMain possibleAt={pollPossibleAt()} onSend={() => request('refresh')} />
);

export const ReadAgain = () => (
  <>
    <p>{say('readAgain.what')}</p>
    <Sender
      fields={['from', 'to']}
      label={say('readAgain.send')}
      possibleAt={pollPossibleAt()}
      onSend={(typed) => request('backfill', typed)}
    />
  </>
);

/** The configured list, else the newest one that is kept, or has just been answered. */
function newestList(answered: State | null): Constituencies | null {
  const base = store.get<Info>('bridge/info')?.base_topic ?? '';
  const topic = textOf(store.get('bridge/constituencies'), 'topic') ?? '';
  const kept = store.below<Constituencies>('constituencies/');
  const [newest] = [...kept].sort((a, b) => (a.fetched_at < b.fetched_at ? 1 : -1));
  const given = answered?.constituencies ? (answered as unknown as Constituencies) : null;
  return store.get<Constituencies>(topic.slice(base.length + 1)) ?? newest ?? given;
}

export function ConstituencyTable() {
  const { send, disabled, result } = useSending();
  const [data, setData] = useState<State | null>(null);
  const [search, isFound] = useSearch(say('filter'));
  const list = newestList(data);
  const rows = (list?.constituencies ?? [])
    .map(({ uri, name, code, house }) => ({ key: uri, cells: [name, code, house.name] }))
    .filter(({ cells }) => isFound(cells.join(' ')));
  const head = [say('constituencies.name'), say('constituencies.code'), say('constituencies.house')];
  return (
    <>
      <p>{say('constituencies.why')}</p>
      <div class="fields">
        <Button
          label={say('constituencies.refresh')}
          disabled={disabled}
          onClick={() => send(() => request('constituencies', {}, setData))}
        />
        {search}
      </div>
      {result}
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
  const { result, disabled, send } = useSending();
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
        <Button label={say('dashboard.add')} disabled={disabled} onClick={() => send(look)} />
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
            <Button label={say('dashboard.confirm')} isMain onClick={() => send(() => add(shown))} />
            <Button label={say('signIn.cancel')} onClick={() => setShown(null)} />
          </div>
        </>
      )}
      {result}
    </>
  );
}

export function Log() {
  const [search, isFound] = useSearch(say('filter'));
  const lines = store.log.filter(({ level = '', message }) => isFound(`${level} ${message}`));
  return (
    <>
      {search}
      <Scroll name={say('log.lines')} kind="log">
        {lines.length === 0 && <p class="empty">{say(store.log.length > 0 ? 'log.none' : 'log.empty')}</p>}
        {[...lines].reverse().map(({ time, level, message }, index) => (
          <p key={lines.length - index} class={level}>
            <time>{write('clock', time)}</time> <b>{level}</b> {message}
          </p>
        ))}
      </Scroll>
    </>
  );
}

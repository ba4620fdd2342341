// What can be asked of the bridge: poll now, read days again, the list of constituencies; and its log.
import { useState } from 'preact/hooks';
import { ago, clockWords, plural, timeWords, UNKNOWN } from './format.ts';
import { today } from './meter.tsx';
import { Result, useSending } from './sending.tsx';
import {
  type Answer,
  type Constituencies,
  type Health,
  type Info,
  ask as post,
  type Summary,
  store,
} from './store.ts';
import { has, Scroll, Search, Table } from './widgets.tsx';

/** A request by its name; what came of it in words, and from when on the same is possible again. */
function useRequest(name: string, possibleAt: string | null = null) {
  const { words, isBusy, send } = useSending();
  const [skippedUntil, setSkippedUntil] = useState<string | null>(null);
  const nextAt = possibleAt ?? skippedUntil;
  const ask = (parameters: object = {}) =>
    send(async () => {
      const answer = await post<Answer>('POST', `request/${name}`, parameters);
      setSkippedUntil(typeof answer.data?.next_at === 'string' ? answer.data.next_at : null);
      return wordsOf(answer);
    });
  const hasToWait = !isBusy && nextAt !== null && Date.parse(nextAt) > Date.now();
  return {
    words: hasToWait
      ? `${words || 'Asked a moment ago.'} Possible again ${ago(nextAt)}, ${timeWords(nextAt)}.`
      : words,
    isDisabled: isBusy || hasToWait,
    ask,
  };
}

function wordsOf({ status, data, error }: Answer): string {
  if (error) return `${error.message} ${error.hint ?? ''}`;
  if (status === 'skipped') return '';
  if (typeof data?.count === 'number') return `${plural(data.count, 'constituency', 'constituencies')}.`;
  const accounts = (data?.accounts ?? []) as {
    changes: number;
    error?: { message: string; hint?: string };
  }[];
  const failed = accounts.find((account) => account.error)?.error;
  if (failed) return `${failed.message} ${failed.hint ?? ''}`;
  const changes = accounts.reduce((sum, account) => sum + account.changes, 0);
  return changes === 0
    ? 'Done. Nothing has changed.'
    : `Done. ${plural(changes, 'day is', 'days are')} new or corrected.`;
}

/** Of requests that poll: they share one cooldown. */
const pollPossibleAt = () => store.get<Health>('bridge/health')?.poll_now_at ?? null;

export function PollNow() {
  const { words, isDisabled, ask } = useRequest('refresh', pollPossibleAt());
  return (
    <>
      <button type="button" class="main" disabled={isDisabled} onClick={() => ask()}>
        Poll now
      </button>
      <Result words={words} />
    </>
  );
}

export function ReadAgain() {
  const { words, isDisabled, ask } = useRequest('backfill', pollPossibleAt());
  const [from, setFrom] = useState('');
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault();
    const fields = [...new FormData(event.currentTarget as HTMLFormElement)];
    ask(Object.fromEntries(fields.filter(([, value]) => value !== '')));
  };
  return (
    <form onSubmit={onSubmit}>
      <p>Asks the provider for these days once more. What has been corrected since then is put right.</p>
      <div class="fields">
        <label>
          From{' '}
          <input
            type="date"
            name="from"
            required
            max={today()}
            onInput={({ currentTarget }) => setFrom(currentTarget.value)}
          />
        </label>
        <label>
          To <input type="date" name="to" min={from} max={today()} />
        </label>
        <button type="submit" disabled={isDisabled}>
          Read again
        </button>
      </div>
      <Result words={words} />
    </form>
  );
}

export function ConstituencyTable() {
  const { words, isDisabled, ask } = useRequest('constituencies');
  const [search, setSearch] = useState('');
  const summary = store.get<Summary>('bridge/constituencies');
  const base = store.get<Info>('bridge/info')?.base_topic ?? '';
  const list = store.get<Constituencies>(summary?.topic?.slice(base.length + 1) ?? '');
  const rows = (list?.constituencies ?? [])
    .map(({ uri, name, code, house }) => ({ key: uri, cells: [name, code, house.name] }))
    .filter(({ cells }) => has(cells.join(' '), search));
  return (
    <>
      <div class="fields">
        <button type="button" disabled={isDisabled} onClick={() => ask()}>
          Refresh constituencies
        </button>
        <Search name="Filter" onInput={setSearch} />
      </div>
      <Result words={words} />
      {list ? (
        <>
          <p>
            {rows.length} of {list.count ?? UNKNOWN} constituencies, fetched {ago(list.fetched_at)}.
            {list.stale && ' A newer list could not be fetched.'}
          </p>
          {rows.length === 0 && <p class="empty">No constituency has these words.</p>}
          <Table name="Constituencies" head={['Name', 'Code', 'House']} rows={rows} />
        </>
      ) : (
        <p class="empty">The list has not been fetched yet.</p>
      )}
    </>
  );
}

export function Log() {
  const [search, setSearch] = useState('');
  const lines = store.log.filter(({ level = '', message }) => has(`${level} ${message}`, search));
  return (
    <>
      <Search name="Filter" onInput={setSearch} />
      <Scroll name="Newest log lines" class="log">
        {lines.length === 0 && (
          <p class="empty">
            {store.log.length > 0 ? 'No line has these words.' : 'Nothing has been logged yet.'}
          </p>
        )}
        {[...lines].reverse().map(({ time, level, message }, index) => (
          <p key={lines.length - index} class={level}>
            <time>{clockWords(time)}</time> <b>{level}</b> {message}
          </p>
        ))}
      </Scroll>
    </>
  );
}

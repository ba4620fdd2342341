// What can be asked of the bridge: poll now, read days again, the list of constituencies; and its log.
import { useState } from 'preact/hooks';
import { ago, clockWords, plural, timeWords, UNKNOWN } from './format.ts';
import { today } from './meter.tsx';
import { type Answer, ask, type Constituencies, type Info, type Summary, store } from './store.ts';
import { has, Scroll, Search, Table } from './widgets.tsx';

/** A request by its name; what came of it in words, and until when the same is not possible again. */
type Asked = ReturnType<typeof useRequest>;

function useRequest(name: string) {
  const [words, setWords] = useState('');
  const [nextAt, setNextAt] = useState<string | null>(null);
  const [isAsking, setAsking] = useState(false);
  const send = async (parameters: object = {}) => {
    setAsking(true);
    setWords('');
    try {
      const answer = await ask<Answer>('POST', `request/${name}`, parameters);
      setNextAt(typeof answer.data?.next_at === 'string' ? answer.data.next_at : null);
      setWords(wordsOf(answer));
    } catch (err) {
      setWords((err as Error).message);
    }
    setAsking(false);
  };
  return { words, nextAt, isAsking, send: (parameters?: object) => void send(parameters) };
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

function Result({ request }: { request: Asked }) {
  const { nextAt, words, isAsking } = request;
  const waits = nextAt !== null && Date.parse(nextAt) > Date.now();
  return (
    <p class="result" role="status">
      {isAsking ? 'Asking …' : waits ? `Possible again ${ago(nextAt)}, ${timeWords(nextAt)}.` : words}
    </p>
  );
}

const isWaiting = ({ nextAt, isAsking }: Asked): boolean =>
  isAsking || (nextAt !== null && Date.parse(nextAt) > Date.now());

export function PollNow() {
  const request = useRequest('refresh');
  return (
    <>
      <button type="button" class="main" disabled={isWaiting(request)} onClick={() => request.send()}>
        Poll now
      </button>
      <Result request={request} />
    </>
  );
}

export function ReadAgain() {
  const request = useRequest('backfill');
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault();
    const fields = [...new FormData(event.currentTarget as HTMLFormElement)];
    request.send(Object.fromEntries(fields.filter(([, value]) => value !== '')));
  };
  return (
    <form onSubmit={onSubmit}>
      <p>Asks the provider for these days once more. What has been corrected since then is put right.</p>
      <div class="fields">
        <label>
          From <input type="date" name="from" required max={today()} />
        </label>
        <label>
          To <input type="date" name="to" max={today()} />
        </label>
        <button type="submit" disabled={isWaiting(request)}>
          Read again
        </button>
      </div>
      <Result request={request} />
    </form>
  );
}

export function ConstituencyTable() {
  const request = useRequest('constituencies');
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
        <button type="button" disabled={isWaiting(request)} onClick={() => request.send()}>
          Refresh constituencies
        </button>
        <Search name="Filter" onInput={setSearch} />
      </div>
      <Result request={request} />
      {list ? (
        <>
          <p>
            {rows.length} of {list.count ?? UNKNOWN} constituencies, fetched {ago(list.fetched_at)}.
            {list.stale && ' A newer list could not be fetched.'}
          </p>
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
  const lines = store.log.filter(({ level, message }) => has(`${level} ${message}`, search));
  return (
    <>
      <Search name="Filter" onInput={setSearch} />
      <Scroll name="Newest log lines" class="log">
        {lines.length === 0 && <p class="empty">No line{store.log.length > 0 && ' has these words'}.</p>}
        {[...lines].reverse().map(({ time, level, message }, index) => (
          <p key={lines.length - index} class={level}>
            <time>{clockWords(time)}</time> <b>{level}</b> {message}
          </p>
        ))}
      </Scroll>
    </>
  );
}

// The page as a whole: who may see it, what is wrong with the connection, and what stands where.
import { render } from 'preact';
import { useEffect, useReducer, useState } from 'preact/hooks';
import { ConstituencyTable, Log, PollNow, ReadAgain } from './actions.tsx';
import { dayIn, dayWords, kWh } from './format.ts';
import { MeterList } from './list.tsx';
import { Meter, nameOf, textOf } from './meter.tsx';
import { Status } from './status.tsx';
import { ask, type Info, Refused, Store } from './store.ts';
import { Fold } from './widgets.tsx';

const TICK_MS = 10_000;

interface Session {
  readonly version: string;
  readonly signedIn: boolean;
  readonly needsPassword: boolean;
  readonly mayTypePasswords: boolean;
}

const store = new Store();

function Page() {
  const [session, setSession] = useState<Session | null>(null);
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    store.listen(() => redraw(0));
    const look = async () => {
      try {
        const found = await ask<Session>('GET', 'session');
        setSession(found);
        if (found.signedIn || !found.needsPassword) store.open(() => void look());
      } catch (err) {
        if (err instanceof Refused && err.status === 401)
          setSession({ version: '', signedIn: false, needsPassword: true, mayTypePasswords: false });
        else setTimeout(() => void look(), TICK_MS);
      }
    };
    void look();
    const timer = setInterval(() => redraw(0), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  return <Screen now={Date.now()} session={session} />;
}

function Screen({ now, session }: { now: number; session: Session | null }) {
  const [chosen, setChosen] = useState(decodeURIComponent(location.hash.slice(1)));
  const info = store.get<Info>('bridge/info');
  const meters = info?.meters ?? [];
  const meter = meters.find((one) => one.meter === chosen) ?? meters[0];
  const today = dayIn(info?.timezone ?? 'UTC', now);
  return (
    <>
      <header>
        <h1>Heat</h1>
        <Connection />
      </header>
      <Trouble />
      <main class={meters.length > 1 ? 'many' : ''}>
        {meters.length > 1 && (
          <MeterList
            {...{ store, meters }}
            chosen={meter?.meter ?? ''}
            onChoose={(name) => {
              setChosen(name);
              history.replaceState(null, '', `#${encodeURIComponent(name)}`);
            }}
          />
        )}
        {meter ? (
          <Meter {...{ store, info: meter, now }} />
        ) : (
          <p class="card empty">{store.isReady ? 'No meter has been found yet.' : 'Loading …'}</p>
        )}
        <aside>
          <section class="card" aria-label="Bridge">
            <Status {...{ store, now }} />
            <PollNow now={now} />
          </section>
          <Fold title="Read days again">{() => <ReadAgain {...{ now, today }} />}</Fold>
          <Fold title="Constituencies">{() => <ConstituencyTable {...{ store, now }} />}</Fold>
          <Fold title="Log">{() => <Log store={store} />}</Fold>
          <p class="card links">
            {meter && (
              <a href={`ledger.csv?meter=${encodeURIComponent(meter.meter)}`} download>
                Download CSV
              </a>
            )}
            <a href="report.txt" download>
              Download report
            </a>
          </p>
        </aside>
      </main>
      <News meters={meters} />
      <footer>
        heat2mqtt {session?.version ?? info?.version}
        {info?.links.documentation?.startsWith('https://') && (
          <a href={info.links.documentation} rel="noreferrer">
            Documentation
          </a>
        )}
      </footer>
    </>
  );
}

const CONNECTIONS = { opening: 'Connecting', open: 'Live', lost: 'Not connected' };

const Connection = () => <span class={`connection ${store.stream}`}>{CONNECTIONS[store.stream]}</span>;

function Trouble() {
  const words = [
    store.stream === 'lost'
      ? 'The connection to the bridge is lost. What you see may be old. Trying again …'
      : '',
    store.broker === 'disconnected'
      ? 'The bridge has lost its MQTT broker. Readings go on, and are sent when it is back.'
      : '',
    store.broker === 'none' ? 'No MQTT broker is connected: readings are shown here only.' : '',
  ];
  return (
    <div role="alert">
      {words.map(
        (sentence) =>
          sentence && (
            <p key={sentence} class="trouble">
              {sentence}
            </p>
          ),
      )}
    </div>
  );
}

/** The newest event of a meter, for those who listen rather than look. */
function News({ meters }: { meters: Info['meters'] }) {
  const { topic = '', payload = {} } = store.event ?? {};
  const info = meters.find(({ meter }) => topic === `meter/${meter}/event`);
  const day = textOf(payload, 'day');
  const words = { new_day: 'New reading', corrected: 'Corrected' }[String(payload.event_type)];
  return (
    <p class="hidden" role="status">
      {info &&
        words &&
        day &&
        `${words} of ${nameOf(info)}: ${dayWords(day, 'short')}, ${kWh(payload.energy_kwh as number | null)}.`}
    </p>
  );
}

render(<Page />, document.body);

// The page as a whole: who may see it, what is wrong with the connection, and what stands where.
import { render } from 'preact';
import { useEffect, useReducer, useState } from 'preact/hooks';
import { ConstituencyTable, Log, PollNow, ReadAgain } from './actions.tsx';
import { EnergyDashboard } from './energyDashboard.tsx';
import { dayWords, kWh } from './format.ts';
import { Bills } from './insight.tsx';
import { MeterList } from './list.tsx';
import { Meter, type MeterInfo, nameOf } from './meter.tsx';
import { PagePassword } from './sending.tsx';
import { SignIns } from './signin.tsx';
import { Status } from './status.tsx';
import { ask, type Health, type Info, type Invoices, numberOf, store, textOf } from './store.ts';
import { Fold } from './widgets.tsx';

const TICK_MS = 10_000;
const AGAIN_MS = 3_000;

interface Session {
  readonly version: string;
  readonly signedIn: boolean;
  readonly needsPassword: boolean;
  readonly mayTypePasswords: boolean;
}

function Page() {
  const [session, setSession] = useState<Session | null>(null);
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const look = () => {
    ask<Session>('GET', 'session')
      .then((found) => {
        setSession(found);
        if (found.signedIn || !found.needsPassword) store.open(look);
      })
      .catch(() => setTimeout(look, AGAIN_MS));
  };
  useEffect(() => {
    store.listen(() => redraw(0));
    look();
    const timer = setInterval(() => redraw(0), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  if (session?.needsPassword && !session.signedIn) return <PagePassword onSignedIn={look} />;
  return <Screen session={session} />;
}

function Screen({ session }: { session: Session | null }) {
  const [chosen, setChosen] = useState(location.hash.slice(1));
  const info = store.get<Info>('bridge/info');
  const meters = info?.meters ?? [];
  const meter = meters.find((one) => one.meter === chosen) ?? meters[0];
  const onChoose = (name: string) => {
    setChosen(name);
    history.replaceState(null, '', `#${name}`);
  };
  const documentation = info?.links.documentation ?? '';
  const hasAccounts = info?.schedule !== null;
  return (
    <>
      <header>
        <h1>Heat</h1>
        <span class={`connection ${store.stream}`}>{CONNECTIONS[store.stream]}</span>
      </header>
      <Trouble />
      <SignIns mayTypePasswords={session?.mayTypePasswords ?? false} />
      <main class={meters.length > 1 ? 'many' : ''}>
        {meters.length > 1 && <MeterList {...{ meters, onChoose }} chosen={meter?.meter ?? ''} />}
        {meter ? (
          <Meter info={meter} />
        ) : (
          <p class="card meter empty">{hasAccounts ? waitingWords() : NO_ACCOUNT}</p>
        )}
        <section class="card" aria-label="Bridge">
          <Status />
          {hasAccounts && <PollNow />}
          <p class="links">
            {meter && (
              <a href={`ledger.csv?meter=${encodeURIComponent(meter.meter)}`} download>
                Download CSV
              </a>
            )}
            <a href="report.txt" download>
              Download report
            </a>
          </p>
        </section>
        <div class="more">
          {meter && store.get<Invoices>(`account/${meter.account}/invoices`) && (
            <Fold title="Bills">{() => <Bills {...meter} />}</Fold>
          )}
          {hasAccounts && <Fold title="Read days again">{() => <ReadAgain />}</Fold>}
          {store.get<Health>('bridge/health')?.statistics && (
            <Fold title="Home Assistant’s Energy dashboard">{() => <EnergyDashboard />}</Fold>
          )}
          <Fold title="Constituencies">{() => <ConstituencyTable />}</Fold>
          <Fold title="Log">{() => <Log />}</Fold>
        </div>
      </main>
      <News meters={meters} />
      <footer>
        heat2mqtt {session?.version}
        {documentation.startsWith('https://') && (
          <a href={documentation} rel="noreferrer">
            Documentation
          </a>
        )}
        {session?.needsPassword && (
          <button type="button" onClick={() => void ask('DELETE', 'session').then(() => location.reload())}>
            Close the page
          </button>
        )}
      </footer>
    </>
  );
}

const NO_ACCOUNT = 'No account is configured: there is nothing to poll.';
const waitingWords = () => (store.isReady ? 'No meter has been found yet.' : 'Loading …');

const CONNECTIONS = { opening: 'Connecting', open: 'Live', lost: 'Not connected' };

function Trouble() {
  const words = [
    store.stream === 'lost' &&
      'The connection to the bridge is lost: what you see may be old. Trying again …',
    store.broker === 'disconnected' &&
      'The bridge has lost its MQTT broker. It goes on reading, and sends everything when the broker is back.',
    store.broker === 'none' &&
      'The MQTT broker has not been reached yet: until then readings are shown here only.',
  ].filter((sentence) => sentence !== false);
  return (
    <div role="alert">
      {words.map((sentence) => (
        <p key={sentence} class="trouble">
          {sentence}
        </p>
      ))}
    </div>
  );
}

/** The newest event of a meter, for those who listen rather than look. */
function News({ meters }: { meters: readonly MeterInfo[] }) {
  const { topic = '', payload = {} } = store.event ?? {};
  const info = meters.find(({ meter }) => topic === `meter/${meter}/event`);
  const words = { new_day: 'New reading', corrected: 'Corrected' }[String(payload.event_type)];
  const day = dayWords(textOf(payload, 'day'), 'short');
  return (
    <p class="hidden" role="status">
      {info && words && `${words} of ${nameOf(info)}: ${day}, ${kWh(numberOf(payload, 'energy_kwh'))}.`}
    </p>
  );
}

render(<Page />, document.body);

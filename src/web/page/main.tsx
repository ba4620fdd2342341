// The page as a whole: who may see it, what is wrong with the connection, and what stands where.
import { render } from 'preact';
import { useEffect, useReducer, useState } from 'preact/hooks';
import type { PageWords } from '../../publication/language.ts';
import type { Session } from './answers.ts';
import { beginningOf } from './beginning.ts';
import { ConstituencyTable, EnergyDashboard, Log, PollNow, ReadAgain, Status } from './bridge.tsx';
import { Bills, billsOf, Meter, MeterList } from './meter.tsx';
import { SignIns } from './signIn.tsx';
import { ask, type MeterInfo, nameOf, store } from './store.ts';
import { Button, Fold, ReadableWords, Sender, sentence } from './widgets.tsx';
import { say, useWords } from './words.ts';

const TICK_MS = 10_000;
const AGAIN_MS = 3_000;

function Page() {
  const [session, setSession] = useState<Session | null>(null);
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const look = () => {
    ask<Session>('GET', 'session')
      .then((answer) => {
        setSession(answer);
        if (answer.signedIn) store.open(look);
      })
      .catch(() => setTimeout(look, AGAIN_MS));
  };
  useEffect(() => {
    store.listen(() => redraw(0));
    look();
    setInterval(() => redraw(0), TICK_MS);
  }, []);
  return session?.signedIn === false ? <PagePassword onSignedIn={look} /> : <Screen session={session} />;
}

const focusInput = (page: HTMLElement | null) => page?.querySelector('input')?.focus();

function PagePassword({ onSignedIn }: { onSignedIn: () => void }) {
  return (
    <main class="card gate" ref={focusInput}>
      <h1>{say('title')}</h1>
      <p>
        {say('password.needed')}
        <br />
        <small>{say('password.where')}</small>
      </p>
      <ReadableWords instead="password.safer" />
      <Sender
        fields={['password']}
        label="password.open"
        isMain
        onSend={async (typed) => {
          await ask('POST', 'session', typed);
          onSignedIn();
          return '';
        }}
      />
    </main>
  );
}

function Screen({ session }: { session: Session | null }) {
  const [chosen, setChosen] = useState(location.hash.slice(1));
  const info = store.get('bridge/info');
  const meters = info?.meters ?? [];
  const meter = meters.find((candidate) => candidate.meter === chosen) ?? meters[0];
  const onChoose = (name: string) => {
    setChosen(name);
    history.replaceState(null, '', `#${name}`);
  };
  const hasAccounts = info?.schedule !== null;
  return (
    <>
      <header>
        <h1>{say('title')}</h1>
        <span class={`connection ${store.stream}`}>{say(`connection.${store.stream}`)}</span>
      </header>
      <Trouble />
      <SignIns />
      <main class={meters.length > 1 ? 'many' : ''}>
        {meters.length > 1 && <MeterList {...{ meters, onChoose }} chosen={meter?.meter ?? ''} />}
        {meter ? (
          <Meter info={meter} />
        ) : (
          <p class="card meter empty">{hasAccounts ? waiting() : say('page.noAccount')}</p>
        )}
        <section class="card" aria-label={say('page.bridge')}>
          <Status />
          {hasAccounts && <PollNow />}
          <p class="links">
            {meter && (
              <a href={`ledger.csv?meter=${encodeURIComponent(meter.meter)}`} download>
                {say('page.csv')}
              </a>
            )}
            <a href="report.txt" download>
              {say('page.report')}
            </a>
          </p>
        </section>
        <Folds meter={meter} hasAccounts={hasAccounts} />
      </main>
      <News meters={meters} />
      <Footer session={session} documentation={info?.links.documentation} />
    </>
  );
}

function Folds({ meter, hasAccounts }: { meter: MeterInfo | undefined; hasAccounts: boolean }) {
  const hasStatistics = store.get('bridge/health')?.statistics != null;
  const hasConstituencies = store.get('bridge/constituencies') !== null;
  const folds = {
    bill: meter && billsOf(meter.account).length > 0 && <Bills {...meter} />,
    readAgain: hasAccounts && <ReadAgain />,
    dashboard: hasStatistics && <EnergyDashboard />,
    constituencies: hasConstituencies && <ConstituencyTable />,
    log: <Log />,
  };
  return (
    <div class="more">
      {Object.entries(folds).map(
        ([name, inside]) =>
          inside && (
            <Fold key={name} title={say(`${name as keyof typeof folds}.title`)}>
              {inside}
            </Fold>
          ),
      )}
    </div>
  );
}

const Footer = ({
  session,
  documentation,
}: {
  session: Session | null;
  documentation: string | undefined;
}) => (
  <footer>
    heat2mqtt {session?.version}
    {documentation && (
      <a href={documentation} rel="noreferrer">
        {say('page.documentation')}
      </a>
    )}
    {session?.needsPassword && (
      <Button
        label={say('page.close')}
        onClick={() => void ask('DELETE', 'session').then(() => location.reload())}
      />
    )}
  </footer>
);

/** The reason why there is no meter to show. */
function waiting(): string {
  if (!store.isReady) return say('loading');
  const health = store.get('bridge/health');
  const beginning = health && beginningOf(health);
  return beginning ? say(`beginning.${beginning.step}`, beginning) : say('page.noMeter');
}

const Trouble = () => (
  <div role="alert">
    {store.stream === 'lost' && sentence('trouble.stream', 'trouble')}
    {store.broker === 'disconnected' && sentence('trouble.brokerLost', 'trouble')}
    {store.broker === 'none' && sentence('trouble.brokerNone', 'trouble')}
  </div>
);

/** The newest event of a meter, for those who listen rather than look. */
function News({ meters }: { meters: readonly MeterInfo[] }) {
  const { topic = '', payload = {} } = store.event ?? {};
  const info = meters.find(({ meter }) => topic === `meter/${meter}/event`);
  const type = payload.event_type;
  const isNews = type === 'new_day' || type === 'corrected';
  return (
    <p class="hidden" role="status">
      {info && isNews && say(`page.${type}`, { ...payload, name: nameOf(info) })}
    </p>
  );
}

/** The words of one language come first: nothing can be said without them. */
function begin() {
  ask<PageWords>('GET', 'words')
    .then((words) => {
      useWords(words, navigator.languages);
      document.documentElement.lang = words.language;
      document.title = say('title');
      render(<Page />, document.body);
    })
    .catch(() => setTimeout(begin, AGAIN_MS));
}

begin();

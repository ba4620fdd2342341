// Signing in to the provider, while it wants a person, by whichever method there is.
import { useEffect, useState } from 'preact/hooks';
import { ago, plural, timeWords } from './format.ts';
import { Form, ReadableWords, Result, useSending } from './sending.tsx';
import { SESSIONS } from './status.tsx';
import { ask, type Health, store } from './store.ts';
import { Choice } from './widgets.tsx';

const METHODS = { password: 'Password', device: 'Other device', link: 'Link' };
type Method = keyof typeof METHODS;
const NEEDS_A_PERSON = ['login_needed', 'needs_user_action', 'bad_credentials_or_locked', 'method_disabled'];
const LOOK_MS = 3_000;

interface SignIn {
  readonly account: string;
  readonly state: string;
  readonly reason: { readonly message: string } | null;
  readonly methods: readonly (Method | 'form')[];
  /** While a refusal is in force. */
  readonly budget: { readonly refusals: number; readonly nextAttemptAt: string | null } | null;
  readonly device: Device | null;
}

/** Shown only while the provider wants a person. */
export function SignIns({ mayTypePasswords }: { mayTypePasswords: boolean }) {
  const [needed, setNeeded] = useState<readonly SignIn[]>([]);
  const [attempts, setAttempts] = useState(0);
  const auth = store.get<Health>('bridge/health')?.auth ?? {};
  // A refusal after a refusal changes only the time of the next attempt.
  const states = Object.entries(auth).map(
    ([account, { state, next_attempt_at }]) => `${account} ${state} ${next_attempt_at}`,
  );
  const isAllWell = Object.values(auth).every(({ state }) => state === 'ok');
  // Asked again whenever a session has changed, and after an attempt: a second refusal may change nothing else. An attempt from here is under way: its form stays.
  useEffect(() => {
    if (isAllWell) return setNeeded([]);
    ask<readonly SignIn[]>('GET', 'sign-in').then(
      (all) =>
        setNeeded((shown) =>
          all.filter(
            ({ account, state }) =>
              NEEDS_A_PERSON.includes(state) || shown.some((one) => one.account === account),
          ),
        ),
      () => setNeeded([]),
    );
  }, [states.join(), attempts]);
  return (
    <>
      {needed.slice(0, 3).map((one) => (
        <AccountSignIn
          key={one.account}
          {...{ ...one, mayTypePasswords }}
          onAttempt={() => setAttempts((count) => count + 1)}
        />
      ))}
      {needed.length > 3 && <p class="trouble">{needed.length - 3} more accounts wait to be signed in.</p>}
    </>
  );
}

function AccountSignIn(props: SignIn & { mayTypePasswords: boolean; onAttempt: () => void }) {
  const { account, state, reason, budget, mayTypePasswords, onAttempt } = props;
  const path = `sign-in/${encodeURIComponent(account)}`;
  // The bridge finds out whether the provider has a form for it.
  const methods = [...new Set(props.methods.map((method) => (method === 'form' ? 'password' : method)))];
  // Kept here: it goes on while another method is looked at.
  const [device, setDevice] = useState(props.device);
  const [hasTried, setTried] = useState(false);
  const [chosen, setMethod] = useState<Method | undefined>(device ? 'device' : undefined);
  // A password comes last where it can be read on the way.
  if (!isSecureContext)
    methods.sort((one, other) => Number(one === 'password') - Number(other === 'password'));
  const method = chosen ?? methods[0];
  return (
    <section class="card signin" aria-label={`Sign in ${account}`}>
      <h2>Sign in to the provider: {account}</h2>
      <p>
        {!hasTried && (reason?.message ?? `${SESSIONS[state] ?? state}.`)}
        {budget && (
          <small>
            {plural(budget.refusals, 'attempt', 'attempts')} refused so far.{' '}
            {budget.nextAttemptAt
              ? `The bridge tries again by itself ${ago(budget.nextAttemptAt)}, ${timeWords(budget.nextAttemptAt)}.`
              : 'The bridge does not try again by itself.'}
          </small>
        )}
      </p>
      {methods.length > 1 && (
        <Choice
          name="Method"
          options={Object.fromEntries(methods.map((one) => [one, METHODS[one]])) as Record<Method, string>}
          value={method}
          onChange={setMethod}
        />
      )}
      {method === 'password' && <ByPassword {...{ path, setTried, onAttempt }} />}
      {method === 'device' && <ByDevice {...{ path, device, setDevice }} />}
      {method === 'link' && <ByLink path={path} />}
      {!mayTypePasswords && (
        <p class="empty">A password can be typed here only on the bridge’s own machine, or over HTTPS.</p>
      )}
    </section>
  );
}

/** `setTried`: what came of the attempt then stands here, in place of the card's reason. */
function ByPassword(props: { path: string; setTried: (hasTried: boolean) => void; onAttempt: () => void }) {
  const { path, setTried, onAttempt } = props;
  useEffect(() => () => setTried(false), []);
  const onSend = async (typed: object) => {
    setTried(true);
    await ask('POST', `${path}/password`, typed).finally(onAttempt);
    return 'Signed in.';
  };
  const code = ['code', 'One-time code, if there is one', 'text', false] as const;
  return (
    <>
      <ReadableWords instead="Sign in on another device or by a link instead, or write the password into the bridge’s configuration: in Home Assistant an option of the app." />
      <p>For this one attempt. Nothing of it is kept, and a refusal counts as one of the bridge’s own.</p>
      <Form
        fields={[['username', 'User name', 'text'], ['password', 'Password', 'password'], code]}
        button="Sign in"
        {...{ onSend }}
      />
    </>
  );
}

interface Device {
  readonly state: 'waiting' | 'done' | 'failed';
  readonly error?: { readonly message: string };
  readonly verification_uri: string;
  readonly verification_uri_complete: string | null;
  readonly user_code: string;
  readonly expires_at: string;
  readonly qr: { readonly size: number; readonly path: string };
}

function deviceWords(now: Device): string {
  if (now.error) return now.error.message;
  return now.state === 'done' ? 'Signed in.' : `Waiting for you until ${timeWords(now.expires_at)}.`;
}

function ByDevice(props: {
  path: string;
  device: Device | null;
  setDevice: (device: Device | null) => void;
}) {
  const { path, device, setDevice } = props;
  const { words, isBusy, send } = useSending();
  const isWaiting = device?.state === 'waiting';
  useEffect(() => {
    if (!isWaiting) return;
    const look = () => ask<Device>('GET', `${path}/device`).then(setDevice, () => setDevice(null));
    const timer = setInterval(() => void look(), LOOK_MS);
    return () => clearInterval(timer);
  }, [isWaiting, path]);
  const begin = async () => {
    setDevice(await ask<Device>('POST', `${path}/device`));
    return '';
  };
  const cancel = async () => {
    await ask('DELETE', `${path}/device`);
    setDevice(null);
    return 'Ended.';
  };
  return (
    <>
      <p>Sign in with a phone or another computer. Nothing has to be typed here.</p>
      {device && (
        <div class="device">
          {isWaiting && <Qr {...device.qr} />}
          <div>
            {isWaiting && <p class="code">{device.user_code}</p>}
            {isWaiting && <Address address={device.verification_uri_complete ?? device.verification_uri} />}
            <p role="status">{deviceWords(device)}</p>
          </div>
        </div>
      )}
      <button
        type="button"
        class={isWaiting ? '' : 'main'}
        disabled={isBusy}
        onClick={() => send(isWaiting ? cancel : begin)}
      >
        {isWaiting ? 'Cancel' : 'Get a code'}
      </button>
      <Result words={words} />
    </>
  );
}

/** What the provider gives as an address is one only if it is for the web. */
const Address = ({ address }: { address: string }) => (
  <p>
    {/^https?:\/\//.test(address) ? (
      <a href={address} target="_blank" rel="noreferrer">
        {address}
      </a>
    ) : (
      address
    )}
  </p>
);

/** Dark on light in both schemes, with the margin that readers want. */
const Qr = ({ size, path }: Device['qr']) => (
  <svg class="qr" viewBox={`-3 -3 ${size + 6} ${size + 6}`} role="img" aria-label="The address as a QR code">
    <rect x="-3" y="-3" width={size + 6} height={size + 6} />
    <path d={path} />
  </svg>
);

function ByLink({ path }: { path: string }) {
  const { words, isBusy, send } = useSending();
  const [address, setAddress] = useState('');
  const begin = async () => {
    setAddress((await ask<{ address: string }>('POST', `${path}/link`, {})).address);
    return '';
  };
  const onSend = async (typed: object) => {
    const { address: again } = await ask<{ address?: string }>('POST', `${path}/link`, typed);
    if (again === undefined) return 'Signed in.';
    setAddress(again);
    return 'The provider wants it once more: there is a new link.';
  };
  return (
    <>
      <p>Sign in on the provider’s page. Then copy the address of the page you end on, and paste it here.</p>
      {address === '' ? (
        <button type="button" class="main" disabled={isBusy} onClick={() => send(begin)}>
          Get a link
        </button>
      ) : (
        <>
          <Address address={address} />
          <Form fields={[['pasted', 'Address you ended on', 'text']]} button="Sign in" {...{ onSend }} />
        </>
      )}
      <Result words={words} />
    </>
  );
}

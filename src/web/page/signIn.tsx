// Signing in to the provider, while it wants a person, by whichever method there is. What is under way is kept by the bridge.
import { useEffect, useState } from 'preact/hooks';
import type { Device, Method, SignIn } from './answers.ts';
import { ask, type Health, store } from './store.ts';
import { Choice, Form, ReadableWords, Result, useSending } from './widgets.tsx';
import { joined, say, sayCount, sessionWords, tell } from './words.ts';

const NEEDS_A_PERSON = ['login_needed', 'needs_user_action', 'bad_credentials_or_locked', 'method_disabled'];
const MOST_SHOWN = 3;
const LOOK_MS = 3_000;

/** Shown only while the provider wants a person. */
export function SignIns({ mayTypePasswords }: { mayTypePasswords: boolean }) {
  const [needed, setNeeded] = useState<readonly SignIn[]>([]);
  const auth = Object.entries(store.get<Health>('bridge/health')?.auth ?? {});
  // A refusal after a refusal changes only the time of the next attempt.
  const states = auth.map(
    ([account, { state, next_attempt_at }]) => `${account} ${state} ${next_attempt_at}`,
  );
  const isAllWell = auth.every(([, { state }]) => state === 'ok');
  const isDeviceAwaited = needed.some(({ device }) => device?.state === 'waiting');
  // Its form stays while an attempt from here is under way.
  const isNeeded = (shown: readonly SignIn[], { account, state }: SignIn) =>
    NEEDS_A_PERSON.includes(state) || shown.some((one) => one.account === account);
  const look = () =>
    ask<readonly SignIn[]>('GET', 'sign-in').then(
      (all) => setNeeded((shown) => all.filter((one) => isNeeded(shown, one))),
      () => setNeeded([]),
    );
  useEffect(() => {
    if (isAllWell) setNeeded([]);
    else void look();
  }, [states.join()]);
  useEffect(() => {
    if (!isDeviceAwaited) return;
    const timer = setInterval(() => void look(), LOOK_MS);
    return () => clearInterval(timer);
  }, [isDeviceAwaited]);
  const more = needed.length - MOST_SHOWN;
  return (
    <>
      {needed.slice(0, MOST_SHOWN).map((one) => (
        <AccountSignIn key={one.account} {...{ ...one, mayTypePasswords, look }} />
      ))}
      {more > 0 && <p class="trouble">{say('signIn.more', { count: more })}</p>}
    </>
  );
}

function AccountSignIn(props: SignIn & { mayTypePasswords: boolean; look: () => Promise<void> }) {
  const { account, state, reason, budget, device, link, mayTypePasswords, look } = props;
  const [hasTried, setTried] = useState(false);
  const [chosen, setMethod] = useState<Method | undefined>(device ? 'device' : undefined);
  // The bridge finds out whether the provider has a form for a password.
  const methods = [...new Set(props.methods.map((method) => (method === 'form' ? 'password' : method)))];
  // A password comes last where it can be read on the way.
  if (!isSecureContext)
    methods.sort((one, other) => Number(one === 'password') - Number(other === 'password'));
  const method = chosen ?? methods[0];
  const onChange = (to: Method) => {
    setMethod(to);
    setTried(false);
  };
  /** Asks the bridge, and looks at what it keeps then. */
  const act: Act = async (verb, by, typed) => {
    const answer = await ask<{ address?: string } | null>(
      verb,
      `sign-in/${encodeURIComponent(account)}/${by}`,
      typed,
    ).finally(look);
    return answer?.address === undefined ? say('signIn.done') : say('signIn.again');
  };
  const onPassword = (typed: object) => {
    // What comes of it stands below the form, in place of the card's reason.
    setTried(true);
    return act('POST', 'password', typed);
  };
  return (
    <section class="card signin" aria-label={say('signIn.label', { account })}>
      <h2>{say('signIn.title', { account })}</h2>
      <p>
        {!hasTried && (reason?.message ?? `${sessionWords(state)}.`)}
        {budget && <small>{budgetWords(budget)}</small>}
      </p>
      {methods.length > 1 && (
        <Choice
          name={say('signIn.method')}
          options={methods.map((one) => [one, say(`signIn.${one}`)])}
          value={method}
          onChange={onChange}
        />
      )}
      {method === 'password' && (
        <>
          <ReadableWords instead={say('signIn.instead')} />
          <p>{say('signIn.once')}</p>
          <Form
            fields={[
              { name: 'username', label: say('signIn.userName') },
              { name: 'password', label: say('signIn.password') },
              { name: 'code', label: say('signIn.code'), isOptional: true },
            ]}
            button={say('signIn.send')}
            onSend={onPassword}
          />
        </>
      )}
      {method === 'device' && <ByDevice {...{ device, act }} />}
      {method === 'link' && <ByLink {...{ link, act }} />}
      {!mayTypePasswords && <p class="empty">{say('signIn.noPassword')}</p>}
    </section>
  );
}

type Act = (verb: 'POST' | 'DELETE', by: Method, typed?: object) => Promise<string>;

const budgetWords = (budget: NonNullable<SignIn['budget']>): string =>
  joined(
    [sayCount('signIn.refused', budget.refusals), tell('signIn.triesAgain', budget) ?? say('signIn.gaveUp')],
    ' ',
  );

function ByDevice({ device, act }: { device: Device | null; act: Act }) {
  const { words, isBusy, send } = useSending();
  const isWaiting = device?.state === 'waiting';
  const begin = () => act('POST', 'device').then(() => '');
  const cancel = () => act('DELETE', 'device').then(() => say('signIn.ended'));
  return (
    <>
      <p>{say('signIn.onDevice')}</p>
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
        {say(isWaiting ? 'signIn.cancel' : 'signIn.getCode')}
      </button>
      <Result words={words} />
    </>
  );
}

function deviceWords(device: Device): string {
  if (device.error) return device.error.message;
  return device.state === 'done' ? say('signIn.done') : say('signIn.waiting', device);
}

function ByLink({ link, act }: { link: string | null; act: Act }) {
  const { words, isBusy, send } = useSending();
  const begin = () => act('POST', 'link', {}).then(() => '');
  return (
    <>
      <p>{say('signIn.byLink')}</p>
      {link === null ? (
        <>
          <button type="button" class="main" disabled={isBusy} onClick={() => send(begin)}>
            {say('signIn.getLink')}
          </button>
          <Result words={words} />
        </>
      ) : (
        <>
          <Address address={link} />
          <Form
            fields={[{ name: 'pasted', label: say('signIn.pasted') }]}
            button={say('signIn.send')}
            onSend={(typed) => act('POST', 'link', typed)}
          />
        </>
      )}
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
  <svg class="qr" viewBox={`-3 -3 ${size + 6} ${size + 6}`} role="img" aria-label={say('signIn.qr')}>
    <rect x="-3" y="-3" width={size + 6} height={size + 6} />
    <path d={path} />
  </svg>
);

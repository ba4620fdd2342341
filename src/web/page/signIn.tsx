// Signing in to the provider, while it wants a person, by whichever method there is. What is under way is kept by the bridge.
import { useEffect, useState } from 'preact/hooks';
import { needsAPerson } from '../../domain/health.ts';
import type { Device, Method, SignIn } from './answers.ts';
import { ask, store } from './store.ts';
import { Choice, ReadableWords, Sender, sentence } from './widgets.tsx';
import { say, sayCount, sessionWords, tell } from './words.ts';

const MOST_SHOWN = 3;
const LOOK_MS = 3_000;
/** Nobody reads more of a link: it is followed. */
const MOST_READ = 400;

/** Shown only while the provider wants a person. */
export function SignIns() {
  const [needed, setNeeded] = useState<readonly SignIn[]>([]);
  const auth = Object.entries(store.get('bridge/health')?.auth ?? {});
  // A refusal after a refusal changes only the time of the next attempt.
  const states = auth.map(([id, { state, next_attempt_at: next }]) => `${id} ${state} ${next}`);
  const isAllWell = auth.every(([, { state }]) => state === 'ok');
  const isDeviceAwaited = needed.some(({ device }) => device?.state === 'waiting');
  // Its form stays while an attempt from here is under way.
  const isNeeded = (shown: readonly SignIn[], { account, state }: SignIn) =>
    needsAPerson(state) || shown.some((signIn) => signIn.account === account);
  const look = () =>
    ask<readonly SignIn[]>('GET', 'sign-in').then(
      (signIns) => setNeeded((shown) => signIns.filter((signIn) => isNeeded(shown, signIn))),
      () => setNeeded([]),
    );
  useEffect(() => {
    if (isAllWell) return setNeeded([]);
    void look();
    const timer = isDeviceAwaited ? setInterval(() => void look(), LOOK_MS) : undefined;
    return () => clearInterval(timer);
  }, [states.join(), isDeviceAwaited]);
  const more = needed.length - MOST_SHOWN;
  return (
    <>
      {needed.slice(0, MOST_SHOWN).map((signIn) => (
        <AccountSignIn key={signIn.account} {...signIn} look={look} />
      ))}
      {more > 0 && sentence('signIn.more', 'trouble', { count: more })}
    </>
  );
}

/** Asks the bridge, and says what came of it. */
type Act = (by: Method, typed?: object, verb?: 'POST' | 'DELETE') => Promise<string>;

function AccountSignIn(props: SignIn & { look: () => Promise<void> }) {
  const { account, state, reason, budget, device, link, look } = props;
  const [hasTried, setTried] = useState(false);
  const [chosen, setMethod] = useState<Method | undefined>(device ? 'device' : undefined);
  // A password comes last where it can be read on the way.
  const isLast = (method: Method) => !isSecureContext && method === 'password';
  const methods = [...props.methods].sort((one, other) => Number(isLast(one)) - Number(isLast(other)));
  const method = chosen ?? methods[0];
  const onChange = (to: Method) => {
    setMethod(to);
    setTried(false);
  };
  const act: Act = async (by, typed, verb = 'POST') => {
    // The outcome of a password stands below the form, in place of the card's reason.
    setTried(by === 'password');
    const path = `sign-in/${encodeURIComponent(account)}/${by}`;
    const answer = await ask<{ readonly state?: string } | null>(verb, path, typed).finally(look);
    if (answer === null) return say('signIn.ended');
    if (answer.state === 'done') return say('signIn.done');
    return typed && 'pasted' in typed ? say('signIn.again') : '';
  };
  return (
    <section class="card signin" aria-label={say('signIn.label', { account })}>
      <h2>{say('signIn.title', { account })}</h2>
      <p>
        {!hasTried && (reason?.message ?? `${sessionWords(state)}.`)}
        {budget && (
          <small>
            {sayCount('signIn.refused', budget.refusals)}{' '}
            {tell('signIn.triesAgain', budget) ?? say('signIn.gaveUp')}
          </small>
        )}
      </p>
      {methods.length > 1 && (
        <Choice name="signIn.method" options={methods} value={method} onChange={onChange} />
      )}
      {method === 'password' && <ByPassword act={act} />}
      {method === 'device' && <ByDevice device={device} act={act} />}
      {method === 'link' && <ByLink link={link} act={act} />}
      {!methods.includes('password') && sentence('signIn.noPassword', 'empty')}
    </section>
  );
}

const ByPassword = ({ act }: { act: Act }) => (
  <>
    <ReadableWords instead="signIn.instead" />
    {sentence('signIn.once')}
    <Sender
      fields={['username', 'password', 'code']}
      label="signIn.send"
      isMain
      onSend={(typed) => act('password', typed)}
    />
  </>
);

function ByDevice({ device, act }: Pick<SignIn, 'device'> & { act: Act }) {
  const isWaiting = device?.state === 'waiting';
  return (
    <>
      {sentence('signIn.onDevice')}
      {device && (
        <div class="device">
          {isWaiting && device.qr && <Qr {...device.qr} />}
          <div>
            {isWaiting && <p class="code">{device.user_code}</p>}
            {isWaiting && <Address address={device.verification_uri_complete ?? device.verification_uri} />}
            <p role="status">
              {device.error?.message ?? say(isWaiting ? 'signIn.waiting' : 'signIn.done', device)}
            </p>
          </div>
        </div>
      )}
      <Sender
        label={isWaiting ? 'signIn.cancel' : 'signIn.getCode'}
        isMain={!isWaiting}
        onSend={() => act('device', undefined, isWaiting ? 'DELETE' : 'POST')}
      />
    </>
  );
}

const ByLink = ({ link, act }: Pick<SignIn, 'link'> & { act: Act }) => (
  <>
    {sentence('signIn.byLink')}
    {link && <Address address={link} />}
    <Sender
      fields={link ? ['pasted'] : []}
      label={link ? 'signIn.send' : 'signIn.getLink'}
      isMain
      onSend={(typed) => act('link', typed)}
    />
  </>
);

/** An address from the provider becomes a link only if it is for the web. */
const Address = ({ address }: { address: string }) => (
  <p>
    {/^https?:\/\//.test(address) ? (
      <a href={address} target="_blank" rel="noreferrer">
        {address.length > MOST_READ ? `${address.slice(0, MOST_READ)}…` : address}
      </a>
    ) : (
      address
    )}
  </p>
);

/** Dark on light in both schemes, with the margin that readers want. */
const Qr = ({ size, path }: NonNullable<Device['qr']>) => (
  <svg class="qr" viewBox={`-3 -3 ${size + 6} ${size + 6}`} role="img" aria-label={say('signIn.qr')}>
    <rect x="-3" y="-3" width={size + 6} height={size + 6} />
    <path d={path} />
  </svg>
);

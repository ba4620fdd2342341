// Sending what a person has asked for or typed, and saying what came of it. The password of the page itself is typed here too.
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask } from './store.ts';

const AUTOCOMPLETE: Readonly<Record<string, 'username' | 'current-password' | 'one-time-code'>> = {
  username: 'username',
  password: 'current-password',
  code: 'one-time-code',
};

/** Sends, and says what came of it; `isBusy` meanwhile. */
export function useSending() {
  const [words, setWords] = useState('');
  const [isBusy, setBusy] = useState(false);
  const send = (what: () => Promise<string>) => {
    setBusy(true);
    setWords('');
    void what()
      .catch((err: Error) => err.message)
      .then((said) => {
        setWords(said);
        setBusy(false);
      });
  };
  return { words: isBusy ? 'Asking …' : words, isBusy, send };
}

export const Result = ({ words }: { words: string }) => (
  <p class="result" role="status">
    {words}
  </p>
);

/** Fields by name. `onSend` is told what has been typed, and gives what to say of it. */
export function Form(props: {
  fields: readonly (readonly [
    name: string,
    label: string,
    type: 'text' | 'password',
    isRequired?: boolean,
  ])[];
  button: string;
  onSend: (typed: Record<string, unknown>) => Promise<string>;
}) {
  const { words, isBusy, send } = useSending();
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault();
    const typed = [...new FormData(event.currentTarget as HTMLFormElement)].filter(([, value]) => value);
    send(() => props.onSend(Object.fromEntries(typed)));
  };
  return (
    <form class="fields" onSubmit={onSubmit}>
      {props.fields.map(([name, label, type, isRequired = true]) => (
        <label key={name}>
          {label}
          <input
            name={name}
            type={type as 'text'}
            required={isRequired}
            autocomplete={AUTOCOMPLETE[name] ?? 'off'}
          />
        </label>
      ))}
      <button type="submit" class="main" disabled={isBusy}>
        {props.button}
      </button>
      <Result words={words} />
    </form>
  );
}

/** Above fields for passwords. Home Assistant itself is often opened without encryption, and its ingress with it. */
export const ReadableWords = ({ instead }: { instead: string }) =>
  isSecureContext ? null : (
    <p class="late">
      The connection to this page is not encrypted: what you type can be read on the network. {instead}
    </p>
  );

export function PagePassword({ onSignedIn }: { onSignedIn: () => void }) {
  const page = useRef<HTMLElement>(null);
  useEffect(() => page.current?.querySelector('input')?.focus(), []);
  const onSend = async (typed: object) => {
    await ask('POST', 'session', typed);
    onSignedIn();
    return '';
  };
  return (
    <main class="card gate" ref={page}>
      <h1>Heat</h1>
      <p>
        This page has a password.
        <br />
        <small>For whoever installed it: the key web.password in the configuration.</small>
      </p>
      <ReadableWords instead="Safer: HTTPS by a reverse proxy, or a tunnel by ssh." />
      <Form fields={[['password', 'Password', 'password']]} button="Open" {...{ onSend }} />
    </main>
  );
}

// Parts that several places of the page use: choices, facts, lists that scroll, forms, and what came of what was sent.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { say, UNKNOWN } from './words.ts';

/** One of a few, as buttons side by side. */
export function Choice<T extends string>(props: {
  name: string;
  options: readonly (readonly [value: T, label: string])[];
  value: T | undefined;
  onChange: (value: T) => void;
}) {
  return (
    <fieldset class="choice">
      <legend class="hidden">{props.name}</legend>
      {props.options.map(([value, label]) => (
        <button
          key={value}
          type="button"
          aria-pressed={value === props.value}
          onClick={() => props.onChange(value)}
        >
          {label}
        </button>
      ))}
    </fieldset>
  );
}

/** Closed until it is asked for, and made only then. */
export function Fold({ title, children }: { title: string; children: () => ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="card fold" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <h2>{title}</h2>
      </summary>
      {isOpen && children()}
    </details>
  );
}

/** Where the value is not known, it is `null` and the note says why. */
export type Fact = readonly [name: string, value: ComponentChildren, ...notes: ComponentChildren[]];

export function Facts({ facts }: { facts: readonly (Fact | false | null)[] }) {
  const known = facts.filter((fact) => fact !== false && fact !== null);
  return (
    <dl class="facts">
      {known.map(([name, value, ...notes], index) => (
        <div key={index}>
          <dt>{name}</dt>
          <dd class={value === null ? 'unknown' : ''}>
            {value ?? UNKNOWN} {notes.map((note, at) => note && <small key={at}>{note}</small>)}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Red, where `isLate`. */
export const late = (words: string, isLate = true) => (isLate ? <span class="late">{words}</span> : words);

/** Scrolls within itself, by keys as well. */
export function Scroll({
  name,
  kind = '',
  children,
}: {
  name: string;
  kind?: string;
  children: ComponentChildren;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: otherwise no key would scroll it.
    <section tabIndex={0} aria-label={name} class={`scroll ${kind}`}>
      {children}
    </section>
  );
}

/** The first cell of a row names it. */
export function Table(props: {
  name: string;
  head: readonly string[];
  rows: readonly { readonly key: string; readonly cells: readonly ComponentChildren[] }[];
}) {
  return (
    <Scroll name={props.name}>
      <table>
        <thead>
          <tr>
            {props.head.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.rows.map(({ key, cells: [name, ...cells] }) => (
            <tr key={key}>
              <th scope="row">{name}</th>
              {cells.map((cell, index) => (
                <td key={index}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

export function Search({ name, onInput }: { name: string; onInput: (words: string) => void }) {
  return (
    <label class="field">
      {name} <input type="search" onInput={(event) => onInput(event.currentTarget.value)} />
    </label>
  );
}

/** Every word of `search` is in the text, whatever its case. */
export function has(text: string, search: string): boolean {
  const words = search.toLowerCase().split(/\s+/);
  return words.every((word) => text.toLowerCase().includes(word));
}

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
  return { words: isBusy ? say('asking') : words, isBusy, send };
}

export const Result = ({ words }: { words: string }) => (
  <p class="result" role="status">
    {words}
  </p>
);

/** What has been typed into the fields of a form, by name, without those that are empty. */
export function typedIn(event: SubmitEvent): Readonly<Record<string, unknown>> {
  event.preventDefault();
  const fields = [...new FormData(event.currentTarget as HTMLFormElement)];
  return Object.fromEntries(fields.filter(([, value]) => value !== ''));
}

interface Field {
  readonly name: 'username' | 'password' | 'code' | 'pasted';
  readonly label: string;
  readonly isOptional?: boolean;
}

const AUTOCOMPLETE = {
  username: 'username',
  password: 'current-password',
  code: 'one-time-code',
  pasted: 'off',
} as const;

/** `onSend` is told what has been typed, and gives what to say of it. */
export function Form(props: {
  fields: readonly Field[];
  button: string;
  onSend: (typed: object) => Promise<string>;
}) {
  const { words, isBusy, send } = useSending();
  const onSubmit = (event: SubmitEvent) => {
    const typed = typedIn(event);
    send(() => props.onSend(typed));
  };
  return (
    <form class="fields" onSubmit={onSubmit}>
      {props.fields.map(({ name, label, isOptional = false }) => (
        <label key={name}>
          {label}
          <input
            name={name}
            type={(name === 'password' ? 'password' : 'text') as 'text'}
            required={!isOptional}
            autocomplete={AUTOCOMPLETE[name]}
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
      {say('password.readable')} {instead}
    </p>
  );

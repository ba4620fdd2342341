// Parts that several places of the page use: choices, facts, lists that scroll, forms, and what came of what was sent.
import type { ComponentChildren, ComponentProps } from 'preact';
import { useState } from 'preact/hooks';
import { today } from './store.ts';
import { type Key, say, UNKNOWN } from './words.ts';

/** One of a few, as buttons side by side. `words`: what the keys of their labels begin with. */
export function Choice<T extends string>(props: {
  name: string;
  words: 'chart' | 'signIn';
  options: readonly T[];
  value: T | undefined;
  onChange: (value: T) => void;
}) {
  return (
    <fieldset class="choice">
      <legend class="hidden">{props.name}</legend>
      {props.options.map((value) => (
        <Button
          key={value}
          label={say(`${props.words}.${value}` as Key)}
          aria-pressed={value === props.value}
          onClick={() => props.onChange(value)}
        />
      ))}
    </fieldset>
  );
}

/** Closed until it is asked for, and made only then. */
export function Fold(props: {
  words: 'bill' | 'readAgain' | 'dashboard' | 'constituencies' | 'log';
  children: () => ComponentChildren;
}) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="card fold" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <h2>{say(`${props.words}.title`)}</h2>
      </summary>
      {isOpen && props.children()}
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
export const Scroll = (props: { name: string; kind?: string; children: ComponentChildren }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: otherwise no key would scroll it.
  <section tabIndex={0} aria-label={props.name} class={`scroll ${props.kind ?? ''}`}>
    {props.children}
  </section>
);

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

/** A field for words, and whether a text has all of them, whatever their case. */
export function useSearch(name: string) {
  const [search, setSearch] = useState('');
  const words = search.toLowerCase().split(/\s+/);
  const field = (
    <label class="field">
      {name} <input type="search" onInput={(event) => setSearch(event.currentTarget.value)} />
    </label>
  );
  return [field, (text: string) => words.every((word) => text.toLowerCase().includes(word))] as const;
}

export const Button = (props: ComponentProps<'button'> & { label: string; isMain?: boolean }) => {
  const { label, isMain, ...more } = props;
  return (
    <button type="button" class={isMain ? 'main' : undefined} {...more}>
      {label}
    </button>
  );
};

/** Words for the reader, or from when on it is possible. */
type Said = string | Date;

/** Sends, with what came of it. `possibleAt`: it has to wait until then. */
export function useSending(possibleAt: string | null = null) {
  const [said, setSaid] = useState<Said>('');
  const [isBusy, setBusy] = useState(false);
  const send = (what: () => Promise<Said>) => {
    setBusy(true);
    setSaid('');
    void what()
      .catch((err: Error) => err.message)
      .then((came) => {
        setSaid(came);
        setBusy(false);
      });
  };
  const words = said instanceof Date ? '' : said;
  const at = possibleAt ?? (said instanceof Date ? said.toISOString() : null);
  const hasToWait = !isBusy && at !== null && Date.parse(at) > Date.now();
  const waiting = hasToWait && `${words || say('poll.asked')} ${say('poll.possible', { at })}`;
  const result = (
    <p class="result" role="status">
      {waiting || (isBusy ? say('asking') : words)}
    </p>
  );
  return { result, disabled: isBusy || hasToWait, send };
}

const FIELDS = {
  username: { label: 'signIn.userName', autocomplete: 'username' },
  password: { label: 'signIn.password', autocomplete: 'current-password', type: 'password' as 'text' },
  code: { label: 'signIn.code', autocomplete: 'one-time-code', required: false },
  pasted: { label: 'signIn.pasted', autocomplete: 'off' },
  from: { label: 'readAgain.from', type: 'date' as 'text' },
  to: { label: 'readAgain.to', type: 'date' as 'text', required: false },
} as const;

/**
 * A button that sends, below fields where there are any, and what came of it. `onSend` is told what has been typed, by
 * name, without what is empty. Days end with today.
 */
export function Sender(props: {
  label: string;
  isMain?: boolean;
  possibleAt?: string | null;
  fields?: readonly (keyof typeof FIELDS)[];
  onSend: (typed: object) => Promise<Said>;
}) {
  const { fields, onSend, possibleAt, ...button } = props;
  const { result, disabled, send } = useSending(possibleAt);
  if (!fields)
    return (
      <>
        <Button {...button} disabled={disabled} onClick={() => send(() => onSend({}))} />
        {result}
      </>
    );
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault();
    const typed = [...new FormData(event.currentTarget as HTMLFormElement)];
    send(() => onSend(Object.fromEntries(typed.filter(([, value]) => value !== ''))));
  };
  return (
    <form class="fields" onSubmit={onSubmit}>
      {fields.map((name) => {
        const { label, ...input } = FIELDS[name];
        return (
          <label key={name}>
            {say(label)}
            <input
              name={name}
              type="text"
              required
              max={name === 'from' || name === 'to' ? today() : undefined}
              {...input}
            />
          </label>
        );
      })}
      <Button type="submit" {...button} disabled={disabled} />
      {result}
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

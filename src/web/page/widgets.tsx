// Parts that several places of the page use: choices, facts, lists that scroll, forms, and what came of what was sent.
import type { ComponentChildren, ComponentProps } from 'preact';
import { useState } from 'preact/hooks';
import { today } from './store.ts';
import { type Key, say, UNKNOWN } from './words.ts';

export function Button({
  label,
  isMain,
  ...more
}: ComponentProps<'button'> & { label: string; isMain?: boolean }) {
  return (
    <button type="button" class={isMain ? 'main' : undefined} {...more}>
      {label}
    </button>
  );
}

/** One of a few, as buttons side by side. The keys of their labels begin as that of the name. */
export function Choice<T extends string>(props: {
  name: 'chart.period' | 'chart.show' | 'signIn.method';
  options: readonly T[];
  value: T | undefined;
  onChange: (value: T) => void;
}) {
  const { name, options, value, onChange } = props;
  const [words] = name.split('.');
  return (
    <fieldset class="choice">
      <legend class="hidden">{say(name)}</legend>
      {options.map((option) => (
        <Button
          key={option}
          label={say(`${words}.${option}` as Key)}
          aria-pressed={option === value}
          onClick={() => onChange(option)}
        />
      ))}
    </fieldset>
  );
}

/** Closed until it is asked for, and drawn only then. */
export function Fold({ title, children }: { title: string; children: ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="card fold" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <h2>{title}</h2>
      </summary>
      {isOpen && children}
    </details>
  );
}

/** A value that is not known is `null`, and the note says why. */
export type Fact = readonly [name: string, value: ComponentChildren, ...notes: ComponentChildren[]];

export const Facts = ({ facts }: { facts: readonly (Fact | null)[] }) => (
  <dl class="facts">
    {facts.map((fact, index) => {
      if (!fact) return null;
      const [name, value, ...notes] = fact;
      return (
        <div key={index}>
          <dt>{name}</dt>
          <dd class={value === null ? 'unknown' : ''}>
            {value ?? UNKNOWN} {notes.map((note, at) => note && <small key={at}>{note}</small>)}
          </dd>
        </div>
      );
    })}
  </dl>
);

/** A sentence of its own; the style knows what kind of one it is. */
export const sentence = (key: Key, kind?: string, values?: object) => <p class={kind}>{say(key, values)}</p>;

/** Red, where `isLate`. */
export const late = (words: string, isLate = true) => (isLate ? <span class="late">{words}</span> : words);

/** Scrolls within itself, by keys as well. */
export const Scroll = (props: { name: Key; kind?: string; children: ComponentChildren }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: otherwise no key would scroll it.
  <section tabIndex={0} aria-label={say(props.name)} class={`scroll ${props.kind ?? ''}`}>
    {props.children}
  </section>
);

/** The first cell of a row names it. */
export function Table(props: {
  name: Key;
  head: readonly Key[];
  rows: readonly { readonly key: string; readonly cells: readonly ComponentChildren[] }[];
}) {
  const heads = props.head.map((name) => (
    <th key={name} scope="col">
      {say(name)}
    </th>
  ));
  const rows = props.rows.map(({ key, cells: [name, ...cells] }) => (
    <tr key={key}>
      <th scope="row">{name}</th>
      {cells.map((cell, index) => (
        <td key={index}>{cell}</td>
      ))}
    </tr>
  ));
  return (
    <Scroll name={props.name}>
      <table>
        <thead>
          <tr>{heads}</tr>
        </thead>
        <tbody>{rows}</tbody>
      </table>
    </Scroll>
  );
}

/** A field for words, and whether a text has all of them, whatever their case. */
export function useSearch(name: Key) {
  const [search, setSearch] = useState('');
  const words = search.toLowerCase().split(/\s+/);
  const field = (
    <label class="field">
      {say(name)} <input type="search" onInput={(event) => setSearch(event.currentTarget.value)} />
    </label>
  );
  return [field, (text: string) => words.every((word) => text.toLowerCase().includes(word))] as const;
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
 * name, without what is empty. Days end with today. `possibleAt`: the button has to wait until then.
 */
export function Sender(props: {
  label: Key;
  isMain?: boolean;
  possibleAt?: string | null;
  fields?: readonly (keyof typeof FIELDS)[];
  onSend: (typed: object) => Promise<string>;
}) {
  const { label, isMain = false, fields = [], onSend, possibleAt = null } = props;
  const [said, setSaid] = useState('');
  const [isBusy, setBusy] = useState(false);
  const onSubmit = async (event: SubmitEvent) => {
    event.preventDefault();
    const typed = [...new FormData(event.currentTarget as HTMLFormElement)];
    setBusy(true);
    setSaid('');
    const sent = onSend(Object.fromEntries(typed.filter(([, value]) => value !== '')));
    setSaid(await sent.catch((err: Error) => err.message));
    setBusy(false);
  };
  const hasToWait = !isBusy && possibleAt !== null && Date.parse(possibleAt) > Date.now();
  const outcome = isBusy ? say('asking') : said;
  const words = hasToWait
    ? `${said || say('poll.asked')} ${say('poll.possible', { at: possibleAt })}`
    : outcome;
  return (
    <form class={fields.length > 0 ? 'fields' : 'bare'} onSubmit={onSubmit}>
      {fields.map((name) => {
        const { label, ...input } = FIELDS[name];
        const max = name === 'from' || name === 'to' ? today() : undefined;
        return (
          <label key={name}>
            {say(label)}
            <input name={name} type="text" required max={max} {...input} />
          </label>
        );
      })}
      <Button type="submit" label={say(label)} isMain={isMain} disabled={isBusy || hasToWait} />
      <p class="result" role="status">
        {words}
      </p>
    </form>
  );
}

/** It stands above fields for passwords. Home Assistant itself is often opened without encryption, and its ingress with it. */
export const ReadableWords = ({ instead }: { instead: Key }) =>
  isSecureContext ? null : (
    <p class="late">
      {say('password.readable')} {say(instead)}
    </p>
  );

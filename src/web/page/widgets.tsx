// Small parts that several places of the page use.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

/** One of a few, as buttons side by side. */
export function Choice<T extends string>(props: {
  name: string;
  options: Readonly<Record<T, string>>;
  value: T | undefined;
  onChange: (value: T) => void;
}) {
  return (
    <fieldset class="choice">
      <legend class="hidden">{props.name}</legend>
      {(Object.keys(props.options) as T[]).map((value) => (
        <button
          key={value}
          type="button"
          aria-pressed={value === props.value}
          onClick={() => props.onChange(value)}
        >
          {props.options[value]}
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

/** `why`: shown where the value is not known. */
export function Fact({
  name,
  children,
  why = 'not known yet',
}: {
  name: string;
  children: ComponentChildren;
  why?: string;
}) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {[children].flat().every((child) => child === null || child === undefined || child === false) ? (
          <span class="unknown">
            – <small>{why}</small>
          </span>
        ) : (
          children
        )}
      </dd>
    </div>
  );
}

/** Scrolls within itself, by keys as well. */
export function Scroll({
  name,
  children,
  ...more
}: {
  name: string;
  children: ComponentChildren;
  class?: string;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: otherwise no key would scroll it.
    <section tabIndex={0} aria-label={name} {...more} class={`scroll ${more.class ?? ''}`}>
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

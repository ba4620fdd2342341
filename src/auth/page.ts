// A page of the issuer as a browser without scripts sees it: forms with their fields, and the marks that themes share.
import { Parser } from 'htmlparser2';

type Attributes = Readonly<Record<string, string>>;

interface Element {
  readonly name: string;
  readonly attributes: Attributes;
  /** The form that is open where it stands. */
  readonly within: Element | null;
}

export interface Field {
  readonly name: string;
  /** In lower case; that of a button is `submit` unless it says otherwise. */
  readonly type: string;
  readonly value: string;
  readonly attributes: Attributes;
}

/** A form that is sent by POST. */
export interface Form {
  /** `null`: not an address. */
  readonly action: URL | null;
  /** Without those that are disabled. */
  readonly fields: readonly Field[];
  /** Also for one that belongs to no form: a script joins the two. */
  readonly hasCaptcha: boolean;
}

export interface Page {
  /** Keycloak's own themes say which page it is. */
  readonly id: string | null;
  readonly forms: readonly Form[];
  /** Where a `<meta http-equiv="refresh">` leads soon. */
  readonly refresh: URL | null;
  readonly ids: ReadonlySet<string>;
  readonly classes: ReadonlySet<string>;
}

// The parser's time grows with the square of the depth. Honest pages stay below a hundred.
const DEEPEST = 1000;

export function readPage(html: string, address: URL): Page {
  const elements = elementsIn(html);
  const textOf = (attribute: string) =>
    elements.find(({ attributes }) => attributes[attribute] !== undefined)?.attributes[attribute];
  const baseHref = elements.find(({ name, attributes }) => name === 'base' && attributes.href !== undefined);
  const base = resolve(baseHref?.attributes.href ?? '', address) ?? address;
  const refresh = elements.find(
    ({ name, attributes }) => name === 'meta' && attributes['http-equiv']?.toLowerCase() === 'refresh',
  );
  const refreshTo = REFRESH.exec(refresh?.attributes.content ?? '')?.[1];
  return {
    id: textOf('data-page-id') ?? null,
    forms: formsIn(elements, (href) => resolve(href, base), address),
    refresh: refreshTo === undefined ? null : resolve(refreshTo, base),
    ids: new Set(elements.flatMap(({ attributes }) => attributes.id ?? [])),
    classes: new Set(elements.flatMap(({ attributes }) => words(attributes.class))),
  };
}

/** The words of an attribute that is a list, such as `class` and `autocomplete`. */
export const words = (list: string | undefined): string[] => (list ?? '').toLowerCase().split(/\s+/);

// Below ten seconds: a longer one is the end of a session.
const REFRESH = /^\s*\d?\s*[;,]\s*(?:url\s*=\s*)?["']?([^"']+)/i;

const resolve = (href: string, base: URL): URL | null =>
  URL.canParse(href, base.href) ? new URL(href, base) : null;

function elementsIn(html: string): Element[] {
  const elements: Element[] = [];
  let form: Element | null = null;
  let depth = 0;
  let templates = 0;
  const parser = new Parser({
    onopentag(name, attributes) {
      depth += 1;
      if (depth > DEEPEST) parser.pause();
      if (name === 'template') templates += 1;
      // What is in a template is no part of the page.
      if (templates > 0) return;
      const element = { name, attributes, within: form };
      elements.push(element);
      if (name === 'form') form = element;
    },
    onclosetag(name, isImplied) {
      depth -= 1;
      if (name === 'template') templates -= 1;
      // Browsers do the same: only its own end tag closes a form, not the end of what it stands in.
      if (name === 'form' && !isImplied) form = null;
    },
  });
  parser.end(html);
  return elements;
}

function formsIn(elements: readonly Element[], resolved: (href: string) => URL | null, address: URL): Form[] {
  const forms = elements.filter(({ name }) => name === 'form');
  const byId = new Map(forms.map((form) => [form.attributes.id, form]).reverse() as [string, Element][]);
  const ownerOf = ({ attributes, within }: Element) =>
    attributes.form === undefined ? within : (byId.get(attributes.form) ?? null);
  const fields = new Map<Element | null, Field[]>([null, ...forms].map((form) => [form, []]));
  for (const element of elements.filter(isField)) fields.get(ownerOf(element))?.push(toField(element));
  const captchas = new Set(elements.filter(isCaptcha).map(ownerOf));
  return forms
    .filter(({ attributes }) => attributes.method?.trim().toLowerCase() === 'post')
    .map((form) => {
      const own = fields.get(form) ?? [];
      const buttons = own.filter(({ type }) => type === 'submit');
      const href = (buttons.length === 1 && buttons[0]?.attributes.formaction) || form.attributes.action;
      // Without an action a form goes to the page itself, whatever the base is.
      const action = href ? resolved(href) : address;
      return { action, fields: own, hasCaptcha: captchas.has(form) || captchas.has(null) };
    });
}

const isField = ({ name, attributes }: Element) =>
  (name === 'input' || name === 'button') && attributes.disabled === undefined;

function toField({ name, attributes }: Element): Field {
  const type = (attributes.type ?? (name === 'button' ? 'submit' : 'text')).trim().toLowerCase();
  const value = attributes.value ?? (type === 'checkbox' || type === 'radio' ? 'on' : '');
  return { name: attributes.name ?? '', type, value, attributes };
}

const CAPTCHA = /captcha|turnstile|altcha/i;

const isCaptcha = ({ name, attributes }: Element) =>
  attributes['data-sitekey'] !== undefined ||
  [name, attributes.id, attributes.class, attributes.name, attributes.src].some((text) =>
    CAPTCHA.test(text ?? ''),
  );

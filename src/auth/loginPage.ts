// The HTML of a login page is read as a browser reads it: its forms, and where they go. The only door to htmlparser2.
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
  /** It is in lower case. A button without a type is a `submit`. */
  readonly type: string;
  readonly value: string;
  readonly attributes: Attributes;
}

/** A form that is sent by POST. */
export interface Form {
  /** `null`: not an address. */
  readonly action: URL | null;
  /** Fields that are disabled are left out. */
  readonly fields: readonly Field[];
  /** It counts if the captcha belongs to no form, too: a script joins the two. */
  readonly hasCaptcha: boolean;
}

export interface Page {
  /** Keycloak's own themes say which page it is. */
  readonly id: string | null;
  readonly forms: readonly Form[];
  /** The target of a `<meta http-equiv="refresh">` that leads there soon. */
  readonly refresh: URL | null;
  readonly ids: ReadonlySet<string>;
  readonly classes: ReadonlySet<string>;
}

// The parser's time grows with the square of the depth. Honest pages stay below a hundred.
const DEEPEST = 1000;
// A page that goes on within ten seconds is a step: a longer wait is the end of a session.
const REFRESH = /^\s*\d?\s*[;,]\s*(?:url\s*=\s*)?["']?([^"']+)/i;
const CAPTCHA = /captcha|turnstile|altcha/i;

export function readPage(html: string, address: URL): Page {
  const elements = elementsIn(html);
  const first = (attribute: string, tag?: string) =>
    elements.find(({ name, attributes }) => attribute in attributes && (tag ?? name) === name)?.attributes;
  const base = addressOf(first('href', 'base')?.href ?? '', address) ?? address;
  const metas = elements.filter(({ name }) => name === 'meta');
  const refresh = metas.find(({ attributes }) => attributes['http-equiv']?.toLowerCase() === 'refresh');
  const leadsTo = REFRESH.exec(refresh?.attributes.content ?? '')?.[1];
  return {
    id: first('data-page-id')?.['data-page-id'] ?? null,
    forms: formsIn(elements, base, address),
    refresh: leadsTo === undefined ? null : addressOf(leadsTo, base),
    ids: new Set(elements.flatMap(({ attributes }) => attributes.id ?? [])),
    classes: new Set(elements.flatMap(({ attributes }) => words(attributes.class))),
  };
}

/** The words of an attribute that is a list, such as `class` and `autocomplete`. */
export const words = (list = ''): string[] => list.toLowerCase().split(/\s+/);

const addressOf = (href: string, base: URL): URL | null =>
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
      // A template is no part of the page.
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

function formsIn(elements: readonly Element[], base: URL, address: URL): Form[] {
  const forms = elements.filter(({ name }) => name === 'form');
  // The first one of an id counts.
  const byId = new Map(forms.map((form) => [form.attributes.id, form] as const).reverse());
  const ownerOf = ({ attributes, within }: Element) =>
    attributes.form === undefined ? within : (byId.get(attributes.form) ?? null);
  const fieldsOf = new Map<Element | null, Field[]>([null, ...forms].map((form) => [form, []]));
  for (const element of elements.filter(isField)) fieldsOf.get(ownerOf(element))?.push(toField(element));
  const captchas = new Set(elements.filter(isCaptcha).map(ownerOf));
  return forms
    .filter(({ attributes }) => attributes.method?.trim().toLowerCase() === 'post')
    .map((form) => {
      const fields = fieldsOf.get(form) ?? [];
      const buttons = fields.filter(isButton);
      const href = (buttons.length === 1 && buttons[0]?.attributes.formaction) || form.attributes.action;
      return {
        // Without an action a form goes to the page itself, whatever the base is.
        action: href ? addressOf(href, base) : address,
        fields,
        hasCaptcha: captchas.has(form) || captchas.has(null),
      };
    });
}

export const isButton = ({ type }: Field): boolean => type === 'submit';

const isField = ({ name, attributes }: Element) =>
  (name === 'input' || name === 'button') && attributes.disabled === undefined;

function toField({ name, attributes }: Element): Field {
  const type = (attributes.type ?? (name === 'button' ? 'submit' : 'text')).trim().toLowerCase();
  const value = attributes.value ?? (type === 'checkbox' || type === 'radio' ? 'on' : '');
  return { name: attributes.name ?? '', type, value, attributes };
}

function isCaptcha({ name, attributes }: Element): boolean {
  const { id, class: classes, name: named, src } = attributes;
  return (
    'data-sitekey' in attributes || [name, id, classes, named, src].some((text) => CAPTCHA.test(text ?? ''))
  );
}

/** The fields that a browser sends of the form; of buttons the only one. */
export function successful({ fields }: Form): URLSearchParams {
  const buttons = fields.filter(isButton);
  const isSent = (field: Field) => {
    const { name, type, attributes } = field;
    if (name === '' || ['button', 'reset', 'image', 'file'].includes(type)) return false;
    if (type === 'checkbox' || type === 'radio') return attributes.checked !== undefined;
    return !isButton(field) || buttons.length === 1;
  };
  return new URLSearchParams(fields.filter(isSent).map(({ name, value }): [string, string] => [name, value]));
}

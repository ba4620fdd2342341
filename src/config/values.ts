// Kinds of values in the configuration. Each check's message completes "allowed: …" in an error.
import * as z from 'zod';
import { splitHostAndPort } from './listenAddress.ts';
import { formOf, Secret } from './secret.ts';
import { isTimeZone, properTimeZone } from './timeZoneName.ts';

/** A key that has to be there, and what it may look like. */
export const required = <T extends z.ZodType>(schema: T, example: unknown, description: string) =>
  schema.meta({ examples: [example], description });

/** A key that may be left out, and what it may look like. */
export const optional = <T extends z.ZodType>(schema: T, example: unknown, description: string) =>
  required(schema.optional(), example, description);

/** A key that has a value of its own where it is left out. */
export const usual = <T extends z.ZodType>(
  schema: T,
  value: z.util.NoUndefined<z.output<T>>,
  description: string,
) => schema.default(value).describe(description);

/** A mapping with these keys and no others. */
export function section<S extends z.core.$ZodLooseShape>(keys: S) {
  const names = Object.keys(keys).join(', ');
  return z.strictObject(keys, {
    error: ({ code }) => (code === 'unrecognized_keys' ? names : `a mapping with ${names}`),
  });
}

/** A section, or `false`. For `true`, which is one with all defaults, the environment puts a mapping there first. */
export const switchable = <T extends z.ZodType>(keys: T, allowed: string) =>
  z.union([z.boolean(), keys], allowed) as z.ZodType as z.ZodType<false | z.output<T>>;

export const text = (allowed = 'a text') => z.string(allowed).min(1, allowed);

/** A text that passes one more check. */
export const textWhere = (isValid: (value: string) => boolean, allowed: string) =>
  text(allowed).refine(isValid, allowed);

export const matching = (pattern: RegExp, allowed: string) => z.string(allowed).regex(pattern, allowed);

export const flag = (value: boolean, description: string) =>
  usual(z.boolean('true or false'), value, description);

export function wholeNumber(from: number, to: number) {
  const allowed = `a whole number from ${from} to ${to}`;
  return z.int(allowed).min(from, allowed).max(to, allowed);
}

export const positiveNumber = (allowed = 'a number above 0') => z.number(allowed).positive(allowed);

export function positiveUpTo(most: number) {
  const allowed = `a number above 0, at most ${most}`;
  return positiveNumber(allowed).max(most, allowed);
}

export function choice<const T extends readonly string[]>(
  words: T,
  value: NoInfer<T[number]>,
  description: string,
) {
  const allowed = words.map((word) => (word === '' ? '""' : word)).join(', ');
  return usual(z.enum(words, allowed), value, description);
}

export function parseUrl(value: string, protocols: readonly string[]): URL | undefined {
  if (!URL.canParse(value) || /\s/.test(value)) return undefined;
  const url = new URL(value);
  return protocols.includes(url.protocol) && url.hostname !== '' ? url : undefined;
}

const isBare = ({ username, password, hash }: URL) => username === '' && password === '' && hash === '';

/** An address without user name, password and fragment. */
export function address(protocols: readonly string[], allowed: string) {
  return textWhere((value) => {
    const url = parseUrl(value, protocols);
    return url !== undefined && isBare(url);
  }, allowed);
}

/** An address of any scheme. A scheme with a number behind it is a host with its port. */
export const redirectUri = textWhere(
  (value) => URL.canParse(value) && !/\s|^https?:(?!\/\/)|^[^:]+:\d/i.test(value) && isBare(new URL(value)),
  'an absolute address such as https://portal.example.org/ or com.example.app:/callback, with : and / where a browser shows %3A and %2F, and without user name, password and #',
);

export const timeZone = textWhere(
  isTimeZone,
  'the IANA name of a time zone, such as Europe/Dublin',
).overwrite(properTimeZone);

export const currency = textWhere(
  (code) => Intl.supportedValuesOf('currency').includes(code),
  'the three letters of a currency, such as EUR',
);

/** The shape only; what each field may hold is checked across the keys (rules.ts), where a range is written out, however long it is. */
export const cronExpression = matching(
  /^(?!.*\d{5})\s*([\w*/,\-?#]+\s+){4,5}[\w*/,\-?#]+\s*$/,
  'a cron expression of 5 or 6 fields, such as "23 */4 * * *"',
);

const DAY = 'a day as YYYY-MM-DD, from 2000-01-01 on';
export const calendarDate = z.iso.date(DAY).refine((day) => day >= '2000', DAY);

export const hostAndPort = textWhere(
  (value) => splitHostAndPort(value) !== undefined,
  'an address and a port, such as 127.0.0.1:8099 or [::1]:8099',
);

export const hostName = z.hostname('a host name such as heat.example.org, without scheme and port');

export const ipOrNetwork = z.union(
  [z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()],
  'an IP address or a network such as 172.18.0.0/16',
);

export const filePath = text('the path of a readable file');

/**
 * The two keys of a secret: `password` and `password_file`, for example. The first holds the Secret when it is checked,
 * wherever that comes from (secretFiles.ts). `what` finishes the sentence "The …".
 */
export function secretKeys<N extends string>(name: N, what: string, exampleFile: string) {
  const { allowed, example } = formOf(name);
  // Its JSON Schema is that of the text in the file.
  const secret = z
    .custom<Secret>((value) => value instanceof Secret, allowed)
    .meta({ type: 'string', minLength: 1, private: true });
  const inline = optional(
    secret,
    example,
    `${what}, written here. Single quotes keep every character as it is. Better: ${name}_file.`,
  );
  const file = optional(
    filePath,
    exampleFile,
    `A file that holds ${what.charAt(0).toLowerCase()}${what.slice(1)}; one newline at its end is ignored. Read again whenever needed, so a changed file counts without a restart.`,
  );
  // Nobody sees the name of the file once the secret is there.
  return { [name]: inline, [`${name}_file`]: file } as Record<N, typeof inline>;
}

/** The section has no use without this secret: rules.ts refuses it then. */
export const neededSecretKeys = <N extends string>(...given: [name: N, what: string, exampleFile: string]) =>
  secretKeys(...given) as unknown as Record<N, z.ZodType<Secret>>;

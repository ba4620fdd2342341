// The mistakes of a configuration: how each is told, with what was found and what is allowed, and never a secret.
import leven from 'leven';
import { EXIT, Failure } from '../foundation/failure.ts';

export interface Fault {
  /** `mqtt.url`, the name of an environment variable, or a file and line. */
  readonly path: string;
  readonly found: string;
  readonly allowed: string;
}

/** One line per mistake, each with its path, what was found and what is allowed. */
export class ConfigInvalid extends Failure {
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    const lines = faults.map(({ path, found, allowed }) => `${path}: found ${found}; allowed: ${allowed}`);
    super('config_invalid', lines.join('\n'), {
      exit: EXIT.config,
      retry: 'never',
      hint: '`heat2mqtt config example` prints a commented example; docs/configuration.md has every key.',
    });
    this.faults = faults;
  }
}

/** Describes a value; `isHidden`: without its text. */
export function valueWords(value: unknown, isHidden: boolean): string {
  if (value === undefined) return 'nothing';
  if (value === null) return "nothing (an empty value, or YAML's null without quotes)";
  if (value === '') return 'an empty text';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  if (isHidden) return `a ${typeof value === 'string' ? 'text' : typeof value} (not shown)`;
  return typeof value === 'string' ? quoted(value) : String(value);
}

/** The query of an address may be a key. Any other text stays. */
export const withoutQuery = (value: string): string =>
  value.replace(/^([a-z][a-z0-9+.-]*:\/\/.*?)[?#].*$/is, '$1?…');

// Everything before an @ may be a name and a password, whether or not the rest is a valid address.
function quoted(value: string): string {
  const masked = withoutQuery(value.replace(/^([a-z][a-z0-9+.-]*:\/\/)?.*@/is, '$1…@'));
  return JSON.stringify(masked.length > 60 ? `${masked.slice(0, 60)}…` : masked);
}

/** The nearest of `words`: a few letters away, or one the beginning of the other; else undefined. */
export function didYouMean(word: string, words: readonly string[]): string | undefined {
  const plain = simplified(word.slice(0, 80));
  const [nearest] = words
    .map((name) => ({ name, steps: leven(plain, simplified(name)) }))
    // Two neighbours that are swapped are two steps.
    .filter(({ name, steps }) => steps <= (name.length < 4 ? 1 : Math.max(2, Math.floor(name.length / 3))))
    .sort((a, b) => a.steps - b.steps);
  return nearest?.name ?? words.find((name) => begins(plain, simplified(name)));
}

/** baseTopic and base-topic are base_topic. */
const simplified = (word: string): string => word.toLowerCase().replace(/[_\s-]/g, '');

const begins = (a: string, b: string): boolean =>
  Math.min(a.length, b.length) >= 3 && (a.startsWith(b) || b.startsWith(a));

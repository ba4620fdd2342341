// Renders config.example.yaml from the schema: every key explained, what must be filled in ready to be edited.
import { stringify } from 'yaml';
import { jsonSchemaOf } from '../../src/config/keys.ts';
import { configKeys, type NestedKey } from './configKeys.ts';

const HEAD = [
  'The configuration of heat2mqtt. A value behind a "# " and a key is the default, or an example.',
  'Every key can also be set by an environment variable: HEAT2MQTT_MQTT_URL is mqtt.url, and so on.',
  'All of them, one by one: docs/configuration.md. To check what you wrote: heat2mqtt check',
];
const WIDTH = 100;
/** Not commented out although they have a default. */
const ESSENTIAL = ['version', 'mqtt.url'];

export function exampleConfig(): string {
  const blocks = configKeys(jsonSchemaOf(() => undefined)).map((key) => keyLines(key, 0).join('\n'));
  return `${[HEAD.map((line) => `# ${line}`).join('\n'), ...blocks].join('\n\n')}\n`;
}

// Lines of one key. A commented section is a whole to be uncommented at once, with its defaults inside.
function keyLines(key: NestedKey, depth: number, defaultsStand = false): string[] {
  const words = commentLines(describedWords(key), WIDTH - 2 * depth);
  const isActive =
    isNeeded(key) || (defaultsStand && key.schema.default !== undefined && key.keys.length === 0);
  const lines =
    key.keys.length > 0 && !key.schema.additionalProperties
      ? sectionLines(key, depth, isActive)
      : [`${key.path.at(-1)}: ${inYaml(shownValue(key))}`];
  return [...words, ...(isActive ? lines : lines.map((line) => `# ${line}`))];
}

function sectionLines(key: NestedKey, depth: number, isActive: boolean): string[] {
  const isList = key.schema.items !== undefined;
  const inner = key.keys.map((child) => keyLines(child, depth + (isList ? 2 : 1), !isActive));
  const lines = isList ? asListEntry(inner) : inner.flat();
  return [`${key.path.at(-1)}:`, ...lines.map((line) => `  ${line}`)];
}

// The dash must stand before a key that is no comment.
function asListEntry(keys: readonly string[][]): string[] {
  const isComment = (lines: readonly string[]) => Number(lines.at(-1)?.startsWith('#'));
  const [first = [], ...rest] = [...keys].sort((a, b) => isComment(a) - isComment(b));
  const comments = first.slice(0, -1);
  return [...comments, `- ${first.at(-1) ?? ''}`, ...rest.flat().map((line) => `  ${line}`)];
}

function describedWords({ schema, keys }: NestedKey): string {
  const text = schema.description ?? '';
  return keys.length > 0 && typeof schema.default === 'boolean'
    ? `${text} Default: ${schema.default}.`
    : text;
}

/** It has to be edited, or something inside it. */
function isNeeded({ required, keys, path }: NestedKey): boolean {
  if (keys.length === 0) return required || ESSENTIAL.includes(path.join('.'));
  if (path[0] === 'provider' || path[0] === 'accounts') return path.length === 1;
  return keys.some((inner) => ESSENTIAL.includes(inner.path.join('.')));
}

function shownValue({ schema, required }: NestedKey): unknown {
  const isExample = required || schema.default === undefined || schema.additionalProperties;
  return isExample ? schema.examples?.[0] : schema.default;
}

function inYaml(value: unknown): string {
  // Texts of several words are those people replace by others that need the quotes.
  const singleQuote = typeof value === 'string' && value.includes(' ');
  const defaultStringType = singleQuote ? 'QUOTE_SINGLE' : 'PLAIN';
  const style = { collectionStyle: 'flow', lineWidth: 0, flowCollectionPadding: false } as const;
  return stringify(value, { ...style, singleQuote, defaultStringType }).trim();
}

function commentLines(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`# ${word}`);
  }
  return text === '' ? [] : lines;
}

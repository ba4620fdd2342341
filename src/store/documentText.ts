// A document as the text of its file. It ends with a check value: a bit that a disk turns in a digit would change a total without a
// word. Earlier versions pass over the value, and write none.
import { crc32 } from 'node:zlib';

/** It is JSON, and not what was written. */
export class AlteredDocument extends Error {}

const CHECK = ',"check":"';
const AT_THE_END = /^,"check":"([0-9a-f]{8})"\}\s*$/;

const checkOf = (text: string): string => crc32(text).toString(16).padStart(8, '0');

/** `json`: an object, as every document is one. */
export function documentText(json: unknown): string {
  // A backup that an earlier version has made of checked documents has their values.
  const { check: _, ...fields } = Object(json);
  const text = JSON.stringify(fields);
  if (text === '{}') return '{}\n';
  return `${text.slice(0, -1)}${CHECK}${checkOf(text)}"}\n`;
}

/** Throws SyntaxError or AlteredDocument. */
export function documentIn(text: string): unknown {
  const json: unknown = JSON.parse(text);
  const { check, ...fields } = Object(json);
  if (check === undefined) return json;
  const at = text.lastIndexOf(CHECK);
  const [, written] = AT_THE_END.exec(text.slice(at)) ?? [];
  if (written !== checkOf(`${text.slice(0, at)}}`)) throw new AlteredDocument('not what was written');
  return fields;
}

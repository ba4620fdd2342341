// Whether a message on one of our topics is as its schema allows: every probe checks all that it receives.
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import * as z from 'zod';
import { SCHEMAS, schemaFile } from '../../scripts/docs/schemas.ts';
import { TOPICS, type TopicName } from '../../src/publication/payloads/payloads.ts';
import { isRetained } from '../../src/publication/topics.ts';

export interface Said {
  readonly topic: string;
  readonly payload: string;
  readonly retained?: boolean;
}

// The JSON Schemas decide, as in any tool of others; zod explains. To optimize them costs more than it brings.
const ajv = new Ajv2020({
  strict: true,
  code: { optimize: false },
  formats: { date: true, 'date-time': true, uri: true },
});
const validators = new Map<string, ValidateFunction>();

const KINDS = Object.entries<z.ZodType>(TOPICS).map(([kind, schema]) => ({
  kind: kind as TopicName,
  schema,
  pattern: new RegExp(`^(.+)/${kind.replaceAll(/<\w+>/g, '[^/]+')}$`),
}));

/** The newest verdict on each topic: several probes hear the same message. */
const verdicts = new Map<string, { readonly said: Said; readonly complaint: string | null }>();

/** What is wrong with it, or `null`. An empty payload withdraws a topic; requests are others' and may be nonsense. */
export function complaintAbout({ topic, payload, retained = false }: Said): string | null {
  const before = verdicts.get(topic);
  if (before?.said.payload === payload && before.said.retained === retained) return before.complaint;
  const complaint = judge({ topic, payload, retained });
  verdicts.set(topic, { said: { topic, payload, retained }, complaint });
  return complaint;
}

function judge({ topic, payload, retained }: Said): string | null {
  const kind = kindOf(topic);
  if (kind === undefined || payload === '' || kind.startsWith('bridge/request/')) return null;
  if (retained && !isRetained(kind)) return `${topic}: is retained, and should not be`;
  const value = kind === 'bridge/state' ? payload : parsed(payload);
  if (validatorOf(kind)(value)) return null;
  const { error } = KINDS.find((one) => one.kind === kind)?.schema.safeParse(value) ?? {};
  const why = error ? z.prettifyError(error) : ajv.errorsText(validatorOf(kind).errors);
  return `${topic}: does not keep to docs/schemas/${schemaFile(kind)}: ${why}: ${payload.slice(0, 500)}`;
}

/** A complaint about a topic of ours that no schema knows, or `null`. */
export function schemaMissing(bases: Iterable<string>, topic: string): string | null {
  const isOurs = [...bases].some((base) => topic.startsWith(`${base}/`));
  const isOther = /\/bridge\/(request\/[^/]+|check)$/.test(topic);
  if (!isOurs || kindOf(topic) !== undefined || isOther) return null;
  return `${topic}: has no schema; enter its payload in src/publication/payloads/payloads.ts (CONTRIBUTING tells how)`;
}

/** The base topic of a bridge that has shown itself by this topic. */
export const baseOf = (topic: string): string | undefined =>
  /^(.+)\/bridge\/(?:state|info)$/.exec(topic)?.[1];

const kinds = new Map<string, TopicName | undefined>();

export function kindOf(topic: string): TopicName | undefined {
  if (!kinds.has(topic)) kinds.set(topic, KINDS.find(({ pattern }) => pattern.test(topic))?.kind);
  return kinds.get(topic);
}

/** What is wrong with a message on bridge/health, or `null`: a reader of `failing` has to read why as well. */
export function reasonMissing({ topic, payload }: Said): string | null {
  if (kindOf(topic) !== 'bridge/health' || payload === '') return null;
  const { state, reasons = [], last_error } = Object(parsed(payload));
  const isTold = reasons.length > 0 ? last_error !== null && state !== 'ok' : state !== 'failing';
  return isTold ? null : `${topic}: ${state} does not go with its reasons: ${payload.slice(0, 700)}`;
}

function validatorOf(kind: string): ValidateFunction {
  const validator = validators.get(kind) ?? ajv.compile(SCHEMAS.get(kind) ?? false);
  validators.set(kind, validator);
  return validator;
}

function parsed(payload: string): unknown {
  try {
    return JSON.parse(payload);
  } catch {
    return payload;
  }
}

// One request and its answer: what a handler gets, and how bodies are read.
import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import { EXIT, Failure } from '../foundation/failure.ts';
import type { Visitor } from './visitor.ts';

export type Env = { Bindings: HttpBindings; Variables: { visitor: Visitor } };
export type Exchange = Context<Env>;

const LARGEST_BODY_BYTES = 16_384;

export class TooLarge extends Failure {
  readonly code = 'too_large';
  readonly exitCode = EXIT.usage;

  constructor() {
    super(`At most ${LARGEST_BODY_BYTES} bytes are allowed.`, { retry: 'never' });
  }
}

export const refuse = (
  c: Exchange,
  status: 400 | 401 | 403 | 404 | 429 | 503,
  code: string,
  message: string,
) => c.json({ error: { code, message } }, status);

/** Rejects with TooLarge. Not by `c.req`, which copies the body from one stream to another. */
export async function bodyOf({ env: { incoming } }: Exchange): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming) {
    bytes += chunk.length;
    if (bytes > LARGEST_BODY_BYTES) throw new TooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The texts of a JSON object; nothing of anything else. */
export async function fieldsOf(c: Exchange): Promise<Readonly<Record<string, string | undefined>>> {
  const body = await bodyOf(c);
  try {
    const given: unknown = JSON.parse(body.toString('utf8'));
    const fields = typeof given === 'object' && given !== null ? Object.entries(given) : [];
    return Object.fromEntries(fields.filter(([, value]) => typeof value === 'string'));
  } catch {
    return {};
  }
}

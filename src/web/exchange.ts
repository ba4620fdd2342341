// One request to the page and its reply: what a route is told, and the replies that there are.
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { EXIT, failure } from '../foundation/failure.ts';
import type { Language } from '../publication/language.ts';
import type { Visitor } from './visitor.ts';

export interface Exchange {
  readonly request: IncomingMessage;
  readonly visitor: Visitor;
  readonly language: Language;
  /** The part of the path that the route calls `:name`. */
  readonly name: string;
  readonly query: URLSearchParams;
}

export interface Reply {
  readonly status?: number;
  readonly headers?: OutgoingHttpHeaders;
  /** Directives of the content security policy, in place of those of the page. */
  readonly allows?: string;
  readonly body?: string | Uint8Array;
  /** It writes the body in place of `body`, and ends it. */
  readonly stream?: (response: ServerResponse) => Promise<void>;
}

/** Failures that it throws are told, anything else is logged. */
export type Handler = (exchange: Exchange) => Reply | Promise<Reply>;
/** The keys are method and path, in which `:name` stands for any name. */
export type Routes = Readonly<Record<string, Handler>>;

const LARGEST_BODY_BYTES = 16_384;
export const TOO_LARGE = 'too_large';

export const json = (value: unknown, status = 200, headers: OutgoingHttpHeaders = {}): Reply => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(value),
});
export const refuse = (status: number, code: string, message: string, headers?: OutgoingHttpHeaders): Reply =>
  json({ error: { code, message } }, status, headers);
export const text = (body: string, type = 'text/plain', headers: OutgoingHttpHeaders = {}): Reply => ({
  headers: { 'content-type': `${type}; charset=utf-8`, ...headers },
  body,
});
export const download = (name: string, body: string, type: string): Reply =>
  text(body, type, { 'content-disposition': `attachment; filename="${name}"` });

/** Rejects with too_large, after the whole body has been taken: a visitor who still sends hears no answer. */
export async function bodyOf({ request }: Exchange): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes <= LARGEST_BODY_BYTES) chunks.push(chunk);
  }
  if (bytes <= LARGEST_BODY_BYTES) return Buffer.concat(chunks);
  const message = `At most ${LARGEST_BODY_BYTES} bytes are allowed.`;
  throw failure(TOO_LARGE, message, { exit: EXIT.usage, retry: 'never' });
}

/** The texts of a JSON object; nothing of anything else. */
export async function fieldsOf(exchange: Exchange): Promise<Readonly<Record<string, string | undefined>>> {
  const body = await bodyOf(exchange);
  try {
    const fields = Object.entries(JSON.parse(body.toString('utf8')) ?? {});
    return Object.fromEntries(
      fields.filter((field): field is [string, string] => typeof field[1] === 'string'),
    );
  } catch {
    return {};
  }
}

// The files of the page, read when they are first asked for.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

const TYPES = {
  'index.html': 'text/html; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'page.css': 'text/css; charset=utf-8',
} as const;

export type PageFile = keyof typeof TYPES;

/** Of the bundle, whose chunks lie in a folder beside it. */
export const BUNDLED = new URL('../page/', import.meta.url);

// Not a Buffer, so that each answer copies it only once.
type Bytes = Uint8Array<ArrayBuffer>;

export class Files {
  readonly #folder: URL;
  readonly #known = new Map<
    PageFile,
    { readonly bytes: Bytes; readonly zipped: Bytes; readonly tag: string }
  >();

  constructor(folder: URL) {
    this.#folder = folder;
  }

  async answer(name: PageFile, request: Headers): Promise<Response> {
    const file = this.#known.get(name) ?? (await this.#read(name));
    const headers = { etag: file.tag, 'cache-control': 'no-cache', vary: 'accept-encoding' };
    if (request.get('if-none-match') === file.tag) return new Response(null, { status: 304, headers });
    const takesGzip = /\bgzip\b/.test(request.get('accept-encoding') ?? '');
    return new Response(takesGzip ? file.zipped : file.bytes, {
      headers: {
        ...headers,
        'content-type': TYPES[name],
        ...(takesGzip && { 'content-encoding': 'gzip' }),
      },
    });
  }

  async #read(name: PageFile) {
    const bytes = await readFile(new URL(name, this.#folder));
    const tag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
    const zipped = await promisify(gzip)(bytes);
    const file = { bytes: new Uint8Array(bytes), zipped: new Uint8Array(zipped), tag };
    this.#known.set(name, file);
    return file;
  }
}

// Bodies that stay the same while the program runs: compressed once, and not sent again to a browser that has them.
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Reply } from './exchange.ts';

const packed = async (body: string) => ({
  body,
  zipped: await promisify(gzip)(body),
  etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`,
});

export class Unchanging {
  readonly #packed = new Map<string, Awaited<ReturnType<typeof packed>>>();

  /** `read` is called once for each name. */
  async send(
    { headers }: IncomingMessage,
    name: string,
    type: string,
    read: () => string | Promise<string>,
  ): Promise<Reply> {
    const unchanged = this.#packed.get(name) ?? (await packed(await read()));
    this.#packed.set(name, unchanged);
    const { body, zipped, etag } = unchanged;
    const lasting = { etag, 'cache-control': 'no-cache', vary: 'accept-encoding, accept-language' };
    if (headers['if-none-match'] === etag) return { status: 304, headers: lasting };
    const sent = { ...lasting, 'content-type': `${type}; charset=utf-8` };
    if (!/\bgzip\b/.test(String(headers['accept-encoding'] ?? ''))) return { headers: sent, body };
    return { headers: { ...sent, 'content-encoding': 'gzip' }, body: zipped };
  }
}

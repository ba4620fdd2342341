// Where a browser on another machine finds the page, as far as the configuration tells.
import type { Config } from './schema.ts';
import { splitHostAndPort } from './sections/values.ts';

const ALL_ADDRESSES = ['0.0.0.0', '::'];

export const isLoopback = (host: string): boolean => /^(localhost|127(\.\d+){3}|::1)$/.test(host);

/** `null` when there is no page for others, or `http.listen` does not tell by which address they reach it. */
export function pageAddress({ http, web }: Pick<Config, 'http' | 'web'>): string | null {
  if (http === false || web === false || web.password === undefined) return null;
  const { host = '', port = 0 } = splitHostAndPort(http.listen) ?? {};
  if (port === 0 || isLoopback(host) || ALL_ADDRESSES.includes(host)) return null;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}/`;
}

// Where a server listens, as `http.listen` says it, and where a browser on another machine then finds the page.

/** `127.0.0.1:8099` or `[::1]:8099` in parts; undefined when it is neither. Port 0 means any free port. */
export function splitHostAndPort(value: string): { host: string; port: number } | undefined {
  const match = /^(?:\[([\da-f:.]+)\]|([^\s:/@[\]]+)):(\d{1,5})$/i.exec(value);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  return host !== undefined && port <= 65_535 ? { host, port } : undefined;
}

export const isLoopback = (host: string): boolean => /^(localhost|127(\.\d+){3}|::1)$/.test(host);

const ALL_ADDRESSES = ['0.0.0.0', '::'];

interface Served {
  readonly http: false | { readonly listen: string };
  readonly web: false | { readonly password?: unknown };
}

/** `null` when there is no page for others, or `http.listen` does not tell by which address they reach it. */
export function pageAddress({ http, web }: Served): string | null {
  if (http === false || web === false || web.password === undefined) return null;
  const { host = '', port = 0 } = splitHostAndPort(http.listen) ?? {};
  if (port === 0 || isLoopback(host) || ALL_ADDRESSES.includes(host)) return null;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}/`;
}

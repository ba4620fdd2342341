// The text of an address at which a server listens (`http.listen`), and whether a host is this machine.

/** `127.0.0.1:8099` or `[::1]:8099` in parts; undefined when it is neither. Port 0 means any free port. */
export function splitHostAndPort(value: string): { host: string; port: number } | undefined {
  const match = /^(?:\[([\da-f:.]+)\]|([^\s:/@[\]]+)):(\d{1,5})$/i.exec(value);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  return host !== undefined && port <= 65_535 ? { host, port } : undefined;
}

/** The same, of a text that has been checked. */
export const partsOf = (checked: string) => splitHostAndPort(checked) ?? { host: '', port: 0 };

/** The address at which this machine reaches what listens there. */
export const localAddress = (listen: string): string =>
  // A server on all addresses listens on this one, too.
  listen.replace(/^(0\.0\.0\.0|\[::\])(?=:\d+$)/, '127.0.0.1');

/** `host`: a name or address, in brackets or without. Any name but these may lead elsewhere. */
export const isLoopback = (host: string): boolean => /^(localhost|127(\.\d+){3}|::1|\[::1\])$/.test(host);

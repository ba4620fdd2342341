// The page may be closed to other machines, and has an address at which a browser there finds it.
import { hostname } from 'node:os';
import { isLoopback, partsOf } from './listenAddress.ts';
import type { Config } from './schema.ts';

const ALL_ADDRESSES = ['0.0.0.0', '::'];

/** Beyond this machine there is a page with a password only, and the metrics are for those who may see it. */
export function openTo({ http, web }: Served): {
  readonly hasPage: boolean;
  readonly metricsFor: 'everyone' | 'this machine' | 'no one';
} {
  if (http === false) return { hasPage: false, metricsFor: 'no one' };
  const isPrivate = isLoopback(partsOf(http.listen).host);
  const needsPassword = web !== false && web.password !== undefined;
  const forPage = isPrivate && !needsPassword ? 'this machine' : 'no one';
  return {
    hasPage: web !== false && (isPrivate || needsPassword),
    metricsFor: http.metrics === 'open' ? 'everyone' : forPage,
  };
}

/** The reason why there is no page though it is not switched off, and what to do; `null` otherwise. */
export function whyNoPage(config: Served): { readonly message: string; readonly hint: string } | null {
  if (config.http === false || config.web === false || openTo(config).hasPage) return null;
  const { listen } = config.http;
  const message = `There is no page: http.listen is ${listen}, which other machines reach, and the page has no password.`;
  return { message, hint: NO_PASSWORD };
}

/** Everyone on the network may try it. `null`: it is long enough. */
export const weaknessOf = (password: string): string | null =>
  [...password].length >= 8
    ? null
    : 'It is soon guessed by whoever reaches the page: take at least 8 characters, such as some words in a row.';

const NO_PASSWORD =
  'Set web.password or web.password_file in the configuration and start heat2mqtt again. Or switch the page off with web: false.';

type Served = Pick<Config, 'http' | 'web'>;

/** `null` when there is no page for others, or the configuration does not tell by which address they reach it. */
export function pageAddress(
  { http, web }: Served,
  machine = { name: hostname(), isApp: Boolean(process.env.SUPERVISOR_TOKEN) },
): string | null {
  if (http === false || web === false) return null;
  // The Supervisor names a container after its app, and Home Assistant's frontend knows the way to it.
  if (machine.isApp) return `homeassistant://hassio/ingress/${machine.name.replaceAll('-', '_')}`;
  if (web.password === undefined) return null;
  const [name] = web.hosts;
  if (web.trusted_proxy !== undefined && name !== undefined) return `https://${name}/`;
  const { host, port } = partsOf(http.listen);
  if (port === 0 || isLoopback(host)) return null;
  const reached = ALL_ADDRESSES.includes(host) ? (name ?? nameOnNetwork(machine.name)) : host;
  return reached && `http://${reached.includes(':') ? `[${reached}]` : reached}:${port}/`;
}

/** A container is called by its id, under which a browser does not find it. */
function nameOnNetwork(name: string): string | null {
  if (/^[\da-f]{12}$/.test(name)) return null;
  return (name.includes('.') ? name : `${name}.local`).toLowerCase();
}

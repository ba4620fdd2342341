// Who asks: the address, whether the way is encrypted, and whether the page may be shown to a browser that came this way.
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { withoutPrefix } from './addresses.ts';

export interface Visitor {
  /** Of the client, as far as a trusted proxy tells it. */
  readonly address: string;
  /** `host:port` as the browser has it; empty when the request names none. */
  readonly host: string;
  readonly isEncrypted: boolean;
  /**
   * What is typed cannot be read on the way, as far as the bridge can tell. Under ingress only the browser knows
   * whether Home Assistant was opened with HTTPS: the page warns where it was not.
   */
  readonly mayTypePasswords: boolean;
}

export interface Entrance {
  /** Host names that are answered besides IP addresses and localhost, in lower case. */
  readonly names: ReadonlySet<string>;
  readonly isTrustedProxy: (address: string) => boolean;
  /** Home Assistant stands before it: it has authenticated the person, under whatever name it is reached. */
  readonly isIngress: boolean;
  /** `null`: none is needed. */
  readonly readPassword: (() => Promise<string>) | null;
}

const isLoopback = (ip: string): boolean => ip.startsWith('127.') || ip === '::1';

/** As a proxy writes it: some add the port, and with it each connection would be an address of its own. */
function addressIn(text: string): string | null {
  const ip = withoutPrefix(text.replace(/^\[(.*)\](:\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1'));
  return isIP(ip) === 0 ? null : ip;
}

export function visitorFrom({ socket, headers }: IncomingMessage, entrance: Entrance): Visitor {
  const peer = withoutPrefix(socket.remoteAddress ?? '');
  const { isTrustedProxy, isIngress } = entrance;
  const isProxied = isTrustedProxy(peer);
  const header = (name: string) => String(headers[name] ?? '');
  // The proxy adds to the end; what stands before may have been made up.
  const last = (name: string) => header(name).split(',').at(-1)?.trim() ?? '';
  const isEncrypted = (isProxied || isIngress) && last('x-forwarded-proto') === 'https';
  const isUnknownProxy = !isProxied && headers['x-forwarded-for'] !== undefined;
  return {
    address: (isProxied ? addressIn(last('x-forwarded-for')) : null) ?? peer,
    host: (((isProxied || isIngress) && last('x-forwarded-host')) || header('host')).toLowerCase(),
    isEncrypted,
    mayTypePasswords: isIngress || isEncrypted || (isLoopback(peer) && !isProxied && !isUnknownProxy),
  };
}

export interface Refusal {
  readonly status: 403 | 421;
  readonly message: string;
}

/** Why a request is not answered, whoever sent it: a name that anybody may have pointed here, or another page's request. */
export function refusalOf(
  { method, url, headers }: IncomingMessage,
  { host }: Visitor,
  { names, isIngress, readPassword }: Entrance,
): Refusal | null {
  const site = headers['sec-fetch-site'];
  const isOpened = method === 'GET' && headers['sec-fetch-mode'] === 'navigate' && url?.split('?')[0] === '/';
  if ((site === 'cross-site' || site === 'same-site') && !isOpened) return OTHER_PAGE;
  const { origin } = headers;
  // The name is Home Assistant's, and a proxy before it may have left the port out.
  if (isIngress)
    return origin !== undefined && nameOf(origin) !== nameOf(`http://${host}`) ? OTHER_PAGE : null;
  if (readPassword === null && headers['x-forwarded-for'] !== undefined)
    return {
      status: 403,
      message: 'Behind a reverse proxy the page needs a password: set web.password or web.password_file.',
    };
  if (!isKnown(host, names))
    return {
      status: 421,
      message:
        'This bridge does not know itself by that name. Use its IP address, or add the name to web.hosts in its configuration.',
    };
  return origin !== undefined && hostOf(origin) !== hostOf(`http://${host}`) ? OTHER_PAGE : null;
}

const OTHER_PAGE: Refusal = {
  status: 403,
  message:
    'Another page asks this. Behind a reverse proxy: let it pass the Host header on, or set web.trusted_proxy.',
};

function isKnown(host: string, names: ReadonlySet<string>): boolean {
  if (!URL.canParse(`http://${host}`)) return false;
  const name = new URL(`http://${host}`).hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  return isIP(name) !== 0 || name === 'localhost' || names.has(name);
}

const nameOf = (address: string): string => (URL.canParse(address) ? new URL(address).hostname : 'none');

/** Without the port that the scheme implies: a proxy may leave it out. */
function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).host.replace(/:(80|443)$/, '') : 'none';
}

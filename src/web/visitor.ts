// The visitor behind a request: the address, whether the way is encrypted, and whether a browser that came this way is answered.
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv6 } from 'node:net';
import { isLoopback } from '../config/listenAddress.ts';

export type Visitor = Readonly<ReturnType<typeof visitorFrom>>;

export interface Entrance {
  /** Host names that are answered besides IP addresses and localhost, in lower case. */
  readonly names: ReadonlySet<string>;
  readonly isTrustedProxy: (address: string) => boolean;
  /** Home Assistant stands before it: it has authenticated the person, under whatever name it is reached. */
  readonly isIngress: boolean;
  /** `null`: none is needed. */
  readonly readPassword: (() => Promise<string>) | null;
}

/** The status, and what to do about it. */
type Refusal = readonly [status: 403 | 421, message: string];

const ANOTHER_PAGE: Refusal = [
  403,
  'Another page asks this. Behind a reverse proxy: let it pass the Host header on, or set web.trusted_proxy.',
];
const NO_PASSWORD: Refusal = [
  403,
  'Behind a reverse proxy the page needs a password: set web.password or web.password_file.',
];
const UNKNOWN_NAME: Refusal = [
  421,
  'This bridge does not know itself by that name. Use its IP address, or add the name to web.hosts in its configuration.',
];

export function visitorFrom({ socket, headers }: IncomingMessage, { isTrustedProxy, isIngress }: Entrance) {
  const peer = withoutPrefix(socket.remoteAddress ?? '');
  const isProxied = isTrustedProxy(peer);
  const header = (name: string) => String(headers[name] ?? '');
  // The proxy adds to the end; what stands before may have been made up.
  const last = (name: string) => header(name).split(',').at(-1)?.trim() ?? '';
  const isForwarded = isProxied || isIngress;
  const isEncrypted = isForwarded && last('x-forwarded-proto') === 'https';
  const isOnThisMachine = isLoopback(peer) && !isProxied && headers['x-forwarded-for'] === undefined;
  return {
    /** The client's, as far as a trusted proxy tells it. */
    address: (isProxied ? addressIn(last('x-forwarded-for')) : null) ?? peer,
    /** `host:port` as the browser has it; empty when the request names none. */
    host: ((isForwarded && last('x-forwarded-host')) || header('host')).toLowerCase(),
    isEncrypted,
    /**
     * A typed password cannot be read on the way, as far as the bridge can tell. Under ingress only the browser knows
     * whether Home Assistant was opened with HTTPS: the page warns where it was not.
     */
    mayTypePasswords: isIngress || isEncrypted || isOnThisMachine,
  };
}

/** The reason why a request is not answered: a name that any page may have pointed here, or another page's request. */
export function refusalOf(
  { method, url, headers }: IncomingMessage,
  { host }: Visitor,
  { names, isIngress, readPassword }: Entrance,
): Refusal | null {
  const { origin, 'sec-fetch-site': site, 'sec-fetch-mode': mode } = headers;
  const isOpened = method === 'GET' && mode === 'navigate' && url?.split('?')[0] === '/';
  if ((site === 'cross-site' || site === 'same-site') && !isOpened) return ANOTHER_PAGE;
  if (!isIngress) {
    if (readPassword === null && headers['x-forwarded-for'] !== undefined) return NO_PASSWORD;
    const name = nameOf(`http://${host}`) ?? '';
    if (isIP(name) === 0 && name !== 'localhost' && !names.has(name)) return UNKNOWN_NAME;
  }
  if (origin === undefined) return null;
  // The name is Home Assistant's, and a proxy before it may have left the port out.
  const part = isIngress ? nameOf : hostOf;
  const here = part(`http://${host}`);
  return here !== null && part(origin) === here ? null : ANOTHER_PAGE;
}

/** Brackets and the dot at the end are left out. */
export const nameOf = (address: string): string | null =>
  URL.canParse(address) ? new URL(address).hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '') : null;

/** The port that the scheme implies is left out: a proxy may leave it out, too. */
const hostOf = (address: string): string | null =>
  URL.canParse(address) ? new URL(address).host.replace(/:(80|443)$/, '') : null;

/** An IPv4 address that arrives at an IPv6 socket, as it is usually written. */
export const withoutPrefix = (ip: string): string => ip.replace(/^::ffff:(?=\d+\.)/i, '');

/** Reads what a proxy writes: some add the port, and with it each connection would be an address of its own. */
function addressIn(text: string): string | null {
  const ip = withoutPrefix(text.replace(/^\[(.*)\](:\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1'));
  return isIP(ip) === 0 ? null : ip;
}

/** Tells whether an address is in `network`: an IP address, or one with the number of its leading bits. */
export function within(network: string | undefined): (address: string) => boolean {
  if (network === undefined) return () => false;
  const family = (ip: string) => (isIPv6(ip) ? 'ipv6' : 'ipv4');
  const [ip = '', bits] = network.split('/');
  const list = new BlockList();
  list.addSubnet(ip, Number(bits ?? (isIPv6(ip) ? 128 : 32)), family(ip));
  return (address) => isIP(address) !== 0 && list.check(address, family(address));
}

/** One machine has as many IPv6 addresses as it likes, in one network of 64 bits. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.split('%')[0]?.split('::') ?? [];
  const words = (part: string) => part.split(':').filter((word) => word !== '');
  const gap = tail === undefined ? 0 : 8 - words(head).length - words(tail).length;
  return [...words(head), ...Array<string>(gap).fill('0'), ...words(tail ?? '')].slice(0, 4).join(':');
}

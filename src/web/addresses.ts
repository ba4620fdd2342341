// IP addresses of visitors: how they are written, and which belong together.
import { BlockList, isIP, isIPv6 } from 'node:net';

/** An IPv4 address that arrives at an IPv6 socket, as it is usually written. */
export const withoutPrefix = (ip: string): string => ip.replace(/^::ffff:(?=\d+\.)/i, '');

/** Tells whether an address is in `network`: an IP address, or one with the number of its leading bits. */
export function within(network: string | undefined): (address: string) => boolean {
  if (network === undefined) return () => false;
  const family = (ip: string) => (isIP(ip) === 6 ? 'ipv6' : 'ipv4');
  const [ip = '', bits] = network.split('/');
  const list = new BlockList();
  list.addSubnet(ip, Number(bits ?? (family(ip) === 'ipv6' ? 128 : 32)), family(ip));
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

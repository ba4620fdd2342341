// Tells a person where the page is found: on this machine, and on a phone in the same network.
import { networkInterfaces } from 'node:os';
import { isLoopback, partsOf } from '../../config/listenAddress.ts';
import { pageAddress, whyNoPage } from '../../config/pageAddress.ts';
import type { Config } from '../../config/schema.ts';

/** Networks of containers and tunnels, which a phone is not in. */
const NOT_AT_HOME = /^(docker|br-|veth|virbr|tun|tap|wg|podman|cni)/;

/** Addresses of this machine at home. A phone may not know its name: not every one looks for names that end in .local. */
const addressesAtHome = (interfaces: ReturnType<typeof networkInterfaces>): string[] =>
  Object.entries(interfaces)
    .filter(([name]) => !NOT_AT_HOME.test(name))
    .flatMap(([, addresses = []]) => addresses)
    .filter(({ family, internal }) => family === 'IPv4' && !internal)
    .map(({ address }) => address);

export function pageWords(config: Config, interfaces = networkInterfaces()): string {
  const { http, web } = config;
  if (http === false || web === false) return 'there is no page: the configuration switches it off';
  const refused = whyNoPage(config);
  if (refused !== null) return refused.message;
  const { host, port } = partsOf(http.listen);
  if (isLoopback(host)) return `while heat2mqtt runs, this machine shows its page at http://${http.listen}/`;
  const byNumber = addressesAtHome(interfaces).map((address) => `http://${address}:${port}/`);
  const addresses = [...byNumber, pageAddress(config) ?? []].flat();
  return `while heat2mqtt runs, your phone shows its page at ${addresses.join(' or ') || `port ${port} of this machine`}, with the password`;
}

// The proxy that the environment names for HTTP: Node itself goes through it, from 22.21 and 24.5 on, where it is told to at its start.
import { globalAgent } from 'node:https';

type Environment = Readonly<Record<string, string | undefined>>;

/** This Node may be able to use a proxy, and may have been told to: both show at the agent of all requests. */
interface ProxySupport {
  readonly isThere: boolean;
  readonly isOn: boolean;
}

const supportOfNode = (): ProxySupport => {
  const options: object = globalAgent.options;
  return { isThere: 'proxyEnv' in options, isOn: 'proxyEnv' in options && options.proxyEnv !== undefined };
};

/** A sentence on the proxy, and what to do where it is named and not used; `null`: none is named for these addresses. */
export function proxyNotice(
  addresses: readonly (string | undefined)[],
  env: Environment,
  { isThere, isOn }: ProxySupport = supportOfNode(),
): { readonly message: string; readonly hint?: string } | null {
  const urls = addresses.flatMap((address) => (address === undefined ? [] : new URL(address)));
  const proxied = urls.filter((url) => !isExempt(url, env));
  const variables = new Set(proxied.flatMap(({ protocol }) => variableFor(protocol, env) ?? []));
  if (variables.size === 0) return null;
  const named = [...variables].join(' and ');
  if (isOn)
    return {
      message: `${named}: used by Node for the provider. The broker and Home Assistant are reached directly`,
    };
  const hint = isThere
    ? 'If there is no other way out, set NODE_USE_ENV_PROXY=1 as well, and name in NO_PROXY what is reached directly.'
    : `If there is no other way out, take Node 22.21, 24.5 or newer, and set NODE_USE_ENV_PROXY=1 as well: Node ${process.versions.node} cannot go through a proxy.`;
  return { message: `${named}: set and not used, everything is reached directly`, hint };
}

/** The name that counts, in small letters first, as in Node. */
function variableFor(protocol: string, env: Environment): string | null {
  const name = protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  return [name.toLowerCase(), name].find((variable) => (env[variable] ?? '') !== '') ?? null;
}

/** NO_PROXY in its usual forms: a host, a domain and what is below it, or everything. */
function isExempt({ hostname, host }: URL, env: Environment): boolean {
  const entries = (env.no_proxy ?? env.NO_PROXY ?? '').toLowerCase().split(/[\s,]+/);
  return entries.some((entry) => {
    if (entry === '*' || entry === hostname || entry === host) return true;
    const domain = entry.replace(/^\*?\./, '');
    return domain !== entry && (hostname === domain || hostname.endsWith(`.${domain}`));
  });
}

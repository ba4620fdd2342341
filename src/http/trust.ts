// Connections that trust the authorities of a file besides those that Node trusts.
import { readFileSync } from 'node:fs';
import { Agent, globalAgent } from 'node:https';
import * as tls from 'node:tls';
import { readAuthorities } from '../foundation/authorities.ts';

/** The agent of encrypted requests. Rejects with ca_file_unusable. */
export type Trust = () => Promise<Agent>;

/** Agents by their file. Each holds a store of 150 authorities, and thousands of accounts share one file. */
const agents = new Map<string, { readonly content: Buffer; readonly agent: Agent }>();

/** The file is read again for each request: a renewed one needs no restart. `key`: that of the configuration. */
export const trustIn =
  (key: string, file: string): Trust =>
  async () => {
    const { content } = await readAuthorities(key, file);
    const before = agents.get(file);
    if (before?.content.equals(content)) return before.agent;
    // Requests through the previous agent go on; its idle connections end by themselves.
    const secureContext = tls.createSecureContext({ ca: [...usualAuthorities(), content] });
    const agent = new Agent({ ...globalAgent.options, secureContext });
    agents.set(file, { content, agent });
    return agent;
  };

/** The authorities that count if nothing else is said, with those that NODE_EXTRA_CA_CERTS adds. */
function usualAuthorities(): (string | Buffer)[] {
  // Node has it since 22.15.
  if ('getCACertificates' in tls) return (tls.getCACertificates as (type: string) => string[])('default');
  const extra = process.env.NODE_EXTRA_CA_CERTS ?? '';
  try {
    return [...tls.rootCertificates, ...(extra === '' ? [] : [readFileSync(extra)])];
  } catch {
    // Node goes on without a file that it cannot read, and says so at its start.
    return [...tls.rootCertificates];
  }
}

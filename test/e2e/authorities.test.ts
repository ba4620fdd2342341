// The built program before a provider with an authority of its own: provider.ca_file counts besides those that Node trusts anyhow.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openAuthority } from '../support/authority.ts';
import { startTlsEnd } from '../support/tlsEnd.ts';
import { openHome, outcome } from './program.ts';

test('a file with another authority takes nothing from those that the machine trusts', async () => {
  const home = await openHome();
  const [ofMachine, ofFile] = [
    openAuthority({ name: 'Of the machine' }),
    openAuthority({ name: 'Of the file' }),
  ];
  const [trusted, named] = [join(home.folder, 'machine.pem'), join(home.folder, 'file.pem')];
  await writeFile(trusted, ofMachine.cert);
  await writeFile(named, ofFile.cert);
  const { issuer, api } = home.simulator.urls;
  const port = Number(new URL(api).port);
  for (const authority of [ofMachine, ofFile]) {
    const secure = `https://localhost:${await startTlsEnd(home.stack, authority.server(), port)}`;
    const api_url = `${secure}${new URL(api).pathname}`;
    const config = await home.configure({
      provider: { issuer, api_url, client_id: 'self-care', ca_file: named },
      mqtt: { embedded: true },
    });
    const env = { NODE_EXTRA_CA_CERTS: trusted };
    const { code, output } = await outcome(['check', '--live', '--config', config], { env });
    expect(output).toContain('heat meter(s)');
    expect(code).toBe(0);
  }
});

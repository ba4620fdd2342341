// What setup writes for systemd, and the port that a demo takes.
import { once } from 'node:events';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { serviceFor, writeService } from '../../src/cli/setup.ts';
import { freePort } from '../../src/cli/simulate.ts';
import { openStack } from '../support/stack.ts';

test('the service is this program with this configuration as this user; without a unit there is none', async () => {
  const folder = await openStack().folder();
  const program = join(folder, 'dist/heat2mqtt.js');
  const configuration = join(folder, 'my 100 %/config.yaml');
  for (const name of ['dist', 'systemd', 'my 100 %']) await mkdir(join(folder, name));
  expect(serviceFor(configuration, program)).toBeNull();
  await writeFile(program, '');
  expect(serviceFor(configuration, program)).toBeNull();
  await writeFile(join(folder, 'systemd/heat2mqtt.service'), '');
  const service = serviceFor(configuration, program);
  if (service === null) throw new Error('a unit is there');
  expect(await writeService(service)).toContain(`"${service.file}" /etc/systemd/system/heat2mqtt.service.d/`);
  expect((await stat(service.file)).mode & 0o777).toBe(0o600);
  const text = await readFile(service.file, 'utf8');
  expect(text).toContain(
    `ExecStart="${process.execPath}" "${program}" run --config "${folder}/my 100 %%/config.yaml"`,
  );
  expect(text).toContain(`User=${userInfo().username}\n`);
  expect(text).toContain(`ReadWritePaths="${folder}/my 100 %%"\n`);
});

test('the usual port where it is free, else any; one that was asked for is taken or refused', async () => {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  expect(await freePort(null, port)).toBe(0);
  await expect(freePort(port, 1)).rejects.toMatchObject({ exitCode: 2 });
  server.close();
  await once(server, 'close');
  expect([await freePort(null, port), await freePort(port, 1)]).toEqual([port, port]);
});

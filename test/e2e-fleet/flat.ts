// One flat and its fleet: a simulated provider, Mosquitto, PostgreSQL, and the built program as process and as command.
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ENTRY, openHomeWithBroker, type RunOptions, run } from '../e2e/program.ts';
import { startChild } from '../support/child.ts';
import { startPostgres } from './postgres.ts';

/** To be called from within a test. `configure` leaves the accounts out, unless `over` has some. */
export async function openFlat() {
  const home = await openHomeWithBroker();
  const { stack, folder } = home;
  const postgres = stack.use(await startPostgres());
  const key = join(folder, 'key');
  await writeFile(key, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 });
  const fleet = { database_url: postgres.urlAs('heat2mqtt'), key_file: key, claim_seconds: 10 };
  const configure = (over: Readonly<Record<string, unknown>> = {}) =>
    home.configure({ mqtt: { url: home.broker.url }, accounts: [], fleet, http: false, ...over });
  await configure();
  const config = join(folder, 'config.yaml');
  const start = (...args: string[]) =>
    stack.use(startChild(process.execPath, [ENTRY, ...args, '--config', config], { cwd: folder }));
  return {
    ...home,
    postgres,
    fleet,
    configure,
    process: () => start('run'),
    /** As a household's, on the Node of the tests. */
    daemon: (options: RunOptions = {}) => stack.use(run(['run', '--config', config], options)),
    async command(...args: string[]) {
      const child = start(...args);
      const code = await child.exited;
      return { code, output: child.output, errors: child.errors };
    },
    /** A file of logins; gives its path. */
    logins: (...rows: readonly (readonly string[])[]) => writeLogins(folder, rows),
  };
}

/** As a spreadsheet writes them; gives its path. */
export async function writeLogins(folder: string, rows: readonly (readonly string[])[]): Promise<string> {
  const cell = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const lines = rows.map((cells) => cells.map(cell).join(','));
  const path = join(folder, 'accounts.csv');
  await writeFile(path, ['id,username,password', ...lines, ''].join('\r\n'), { mode: 0o600 });
  return path;
}

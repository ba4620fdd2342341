// One flat and its fleet: a simulated provider, Mosquitto, PostgreSQL, and the built program as process and as command.
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ME, openHomeWithBroker, outcome, run } from '../e2e/program.ts';
import { waitFor } from '../support/waitFor.ts';
import { startPostgres } from './postgres.ts';

type Row = Readonly<Record<string, unknown>>;
/** Cells of a row of logins; an id alone has the login of the one person. */
type Login = string | readonly string[];

export const isRead = (row: Row) => row.last_success_at !== null && row.failures === 0;
/** Nothing of it is due soon, or under way. */
export const rests = (row: Row) => row.rests === true;

/** To be called from within a test. `configure` leaves the accounts out, unless `over` has some. `me`: as in `openHome`. */
export async function openFlat(me = ME) {
  const home = await openHomeWithBroker(me);
  const { stack, folder } = home;
  const postgres = stack.use(await startPostgres());
  const fleet = {
    database_url: postgres.urlAs('heat2mqtt'),
    key_file: await writeKey(folder),
    claim_seconds: 10,
  };
  const configure = (over: Row = {}) =>
    home.configure({ mqtt: { url: home.broker.url }, accounts: [], fleet, http: false, ...over });
  await configure();
  const config = join(folder, 'config.yaml');
  const command = (...args: string[]) => outcome([...args, '--config', config], { cwd: folder });
  const logins = (...who: readonly Login[]) =>
    writeLogins(
      folder,
      who.map((one) => (typeof one === 'string' ? [one, ME.username, ME.password] : one)),
    );
  async function row(id: string): Promise<Row> {
    const [found] = await postgres.query(
      `SELECT *, wanted = 0 AND claimed_until <= now() AND due_at > now() + interval '20 s' AS rests
      FROM heat2mqtt.account WHERE id = $1`,
      [id],
    );
    return found ?? {};
  }
  return {
    ...home,
    postgres,
    fleet,
    configure,
    process: () => stack.use(run(['run', '--config', config], { cwd: folder })),
    command,
    /** A file of logins; gives its path. */
    logins,
    import: async (...who: readonly Login[]) => command('accounts', 'import', await logins(...who)),
    /** Of the account in the database. */
    row,
    untilRow: (id: string, what: string, is: (row: Row) => boolean) =>
      waitFor(`${id} to be ${what}`, async () => is(await row(id))),
    untilReadBy: (account: string) =>
      waitFor(`${account} to read the meter`, async () => {
        const [series] = await postgres.query('SELECT account FROM heat2mqtt.series');
        return series?.account === account;
      }),
    /** How many days the view has. */
    async days(): Promise<unknown> {
      const [found] = await postgres.query('SELECT count(*)::int AS days FROM heat2mqtt_views.reading');
      return found?.days;
    },
  };
}

/** The key that seals what the database keeps; gives the path of its file. */
export async function writeKey(folder: string): Promise<string> {
  const path = join(folder, 'key');
  await writeFile(path, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 });
  return path;
}

/** As a spreadsheet writes them; gives its path. */
export async function writeLogins(folder: string, rows: readonly (readonly string[])[]): Promise<string> {
  const cell = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const lines = rows.map((cells) => cells.map(cell).join(','));
  const path = join(folder, 'accounts.csv');
  await writeFile(path, ['id,username,password', ...lines, ''].join('\r\n'), { mode: 0o600 });
  return path;
}

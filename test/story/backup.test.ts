// A backup of a running daemon, restored elsewhere: no reading is lost, and a login is spent only where it has to be.
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { Io } from '../../src/cli/command.ts';
import { documentText } from '../../src/store/documentText.ts';
import { ClaimedDirectory } from '../../src/store/locks.ts';
import { packed, unpacked } from '../support/backups.ts';
import { ME, STATE } from '../support/homes.ts';
import { logLines } from '../support/logLines.ts';
import { firstPoll } from '../support/story.ts';
import { typed } from '../support/typed.ts';

const MADE_AT = '2025-03-01T00:00:00.000Z';
const BROKER_PASSWORD = 'of the broker, 17 characters';

const SUSPENDED = documentText({
  version: 1,
  refusals: 4,
  nextAttemptAt: null,
  state: 'bad_credentials_or_locked',
  code: 'invalid_grant',
  secretMark: 'mark',
  askedAt: null,
});

/** A daemon that has published everything, and the commands beside it with a configuration file of their own. */
async function running() {
  const home = await firstPoll();
  const { story, simulator } = home;
  const folder = await story.stack.folder();
  const path = (name: string) => join(folder, name);
  const { issuer, api } = simulator.urls;
  const config = {
    provider: { issuer, api_url: api, client_id: 'self-care' },
    accounts: [{ username: ME.username, password: ME.password }],
    mqtt: { url: 'mqtt://127.0.0.1:9', username: 'me', password_file: path('mqtt-password') },
    state_dir: story.stateDir,
  };
  await writeFile(path('mqtt-password'), `${BROKER_PASSWORD}\n`);
  await writeFile(path('config.yaml'), `# Ours.\n${stringify(config)}`);
  const type = (...words: string[]) =>
    story.passing(typed(words, { clock: story.clock, isInteractive: false }));
  const here = ['--config', path('config.yaml')];
  return { ...home, path, type, here };
}

const textOf = async (file: string): Promise<string> => gunzipSync(await readFile(file)).toString('utf8');
const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);

test('a plain backup has every reading and no secret; its restore costs one login', async () => {
  const { story, daemon, probe, counters, path, type, here, state } = await running();
  const { out, exitCode } = await type('backup', path('b.gz'), ...here);
  expect(exitCode).toBe(0);
  expect(out).toContain('1 meter with 69 days');
  expect(out).toContain('  accounts.0.password\n  the file ./mqtt-password\n');
  expect(await modeOf(path('b.gz'))).toBe('600');
  const tokens = JSON.parse(await readFile(join(story.stateDir, 'accounts/home/tokens.json'), 'utf8'));
  const text = await textOf(path('b.gz'));
  for (const secret of [ME.password, BROKER_PASSWORD, tokens.value.accessToken, tokens.value.refreshToken])
    for (const form of [secret, JSON.stringify(secret).slice(1, -1)]) expect(text).not.toContain(form);

  await story.stop(daemon);
  const state_dir = path('elsewhere');
  await writeFile(path('new.yaml'), `state_dir: ${state_dir}\n`);
  const restored = await type('restore', path('b.gz'), '--config', path('new.yaml'), '--yes');
  expect(restored.out).toContain('signs in once: home');
  expect(await readFile(path('new.yaml'), 'utf8')).toBe(`state_dir: ${state_dir}\n`);
  expect([await modeOf(state_dir), await modeOf(join(state_dir, 'journal.json'))]).toEqual(['700', '600']);
  const logins = counters.passwordGrants.ok;
  probe.forget();
  await story.start({ state_dir });
  await story.nextPoll(4 * 3_600_000);
  expect(await probe.until(STATE, () => true)).toMatchObject({ energy_total: state.energy_total });
  expect(counters.passwordGrants.ok - logins).toBe(1);
});

test('each refusal leaves everything as it is', async () => {
  const { story, daemon, path, type, here } = await running();
  await type('backup', path('b.gz'), ...here);
  const refused = (words: readonly string[], code: string, message: RegExp) =>
    expect(type(...words)).rejects.toMatchObject({
      code,
      exitCode: 2,
      message: expect.stringMatching(message),
    });
  await refused(['backup', path('b.gz'), ...here], 'wrong_usage', /is there already/);
  await refused(['backup', path('config.yaml'), '--force', ...here], 'wrong_usage', /is no backup/);
  await refused(['backup', path('no/b.gz'), ...here], 'file_unwritable', /cannot be written/);
  await refused(['backup', ...here], 'wrong_usage', /one word/);
  await refused(['backup', path('c.gz'), '--with-secrets', ...here], 'wrong_usage', /is gone: .* apart/);
  expect((await type('backup', path('b.gz'), '--force', ...here)).exitCode).toBe(0);

  const restore = ['restore', path('b.gz'), ...here];
  await refused(restore, 'wrong_usage', /--yes/);
  const claimed = await ClaimedDirectory.claim(story.stateDir, story.clock, logLines().log);
  await refused([...restore, '--yes', '--force'], 'already_running', /already runs/);
  await mkdir(path('folder.yaml'));
  await expect(type('restore', path('b.gz'), '--config', path('folder.yaml'), '--yes')).rejects.toMatchObject(
    { exitCode: 3, message: expect.stringMatching(/folder\.yaml: found a directory/) },
  );
  await claimed.giveUp();
  await story.nextPoll(4 * 3_600_000);
  await story.stop(daemon);
  await refused([...restore, '--yes'], 'state_newer', /was filled at/);
  const budget = join(story.stateDir, 'accounts/home/login-budget.json');
  await writeFile(budget, SUSPENDED);
  const before = await readFile(join(story.stateDir, 'journal.json'), 'utf8');
  const tokens = await readFile(join(story.stateDir, 'accounts/home/tokens.json'), 'utf8');
  const { out } = await type(...restore, '--yes', '--force');
  expect(out).toContain('kept as before-restore.gz');
  expect(await readFile(join(story.stateDir, 'journal.json'), 'utf8')).not.toBe(before);
  expect(await readFile(budget, 'utf8')).toBe(SUSPENDED);
  // The session that was there goes on.
  expect(await readFile(join(story.stateDir, 'accounts/home/tokens.json'), 'utf8')).toBe(tokens);
  expect(await readFile(path('config.yaml.before-restore'), 'utf8')).toContain('password: ');

  // And back again.
  const undo = ['restore', join(story.stateDir, 'before-restore.gz'), ...here, '--yes'];
  expect((await type(...undo)).exitCode).toBe(0);
  expect(await readFile(join(story.stateDir, 'journal.json'), 'utf8')).toBe(before);

  await mkdir(join(story.stateDir, 'constituencies'), { recursive: true });
  await writeFile(join(story.stateDir, 'constituencies/dail-34.json'), '{"version":9}');
  await refused([...restore, '--yes'], 'state_newer', /does not understand/);
});

test('what is not understood, and replaced all the same, is kept apart: the copy of what was there can be restored', async () => {
  const { story, daemon, path, type, here } = await running();
  await type('backup', path('b.gz'), ...here);
  await story.stop(daemon);
  const at = (name: string) => join(story.stateDir, name);
  const tokens = await readFile(at('accounts/home/tokens.json'), 'utf8');
  const strange = {
    'journal.json': ['{', 'damaged'],
    'accounts/home/ledger-410004.json': ['{"version":9}', 'newer'],
    'accounts/home/login-budget.json': ['null', 'damaged'],
  } as const;
  for (const [name, [text]] of Object.entries(strange)) await writeFile(at(name), text);
  const { out } = await type('restore', path('b.gz'), ...here, '--yes', '--force');
  expect(out).toContain('not understood, kept apart: accounts/home/ledger-….json, as .newer');
  for (const [name, [text, ending]] of Object.entries(strange))
    expect([name, await readFile(at(`${name}.${ending}`), 'utf8')]).toEqual([name, text]);
  expect(await readFile(at('accounts/home/tokens.json'), 'utf8')).toBe(tokens);
  const undone = await type('restore', at('before-restore.gz'), ...here, '--yes', '--force');
  expect(undone.exitCode).toBe(0);
});

test('where what is there cannot be kept, nothing is changed', async () => {
  const { story, daemon, path, type, here } = await running();
  await type('backup', path('b.gz'), ...here);
  await story.stop(daemon);
  await mkdir(join(story.stateDir, 'before-restore.gz/full'), { recursive: true });
  await writeFile(join(story.stateDir, 'journal.json'), '{"version":1,"accounts":{}}');
  await writeFile(path('config.yaml'), `${await readFile(path('config.yaml'), 'utf8')}# Newer.\n`);
  const before = [await readFile(path('config.yaml'), 'utf8'), await readdir(story.stateDir)];
  await expect(type('restore', path('b.gz'), ...here, '--yes', '--force')).rejects.toMatchObject({
    code: 'file_unwritable',
    exitCode: 2,
  });
  expect([await readFile(path('config.yaml'), 'utf8'), await readdir(story.stateDir)]).toEqual(before);
});

test('what happens while the question is open counts; a restore that is repeated keeps what was there before the first', async () => {
  const { story, daemon, path, here } = await running();
  const read = (name: string) => readFile(join(story.stateDir, name), 'utf8');
  const tokens = 'accounts/home/tokens.json';
  const command = (words: readonly string[], ask: Io['ask'] = async () => 'y') =>
    story.passing(typed(words, { clock: story.clock, ask }));
  await command(['backup', path('b.gz'), ...here]);
  await story.stop(daemon);
  await writeFile(path('config.yaml'), `${await readFile(path('config.yaml'), 'utf8')}# Newer.\n`);
  const used = await read(tokens);
  const newer = documentText(JSON.parse(used.replace('"refreshToken":"', '"refreshToken":"newer')));
  const restore = ['restore', path('b.gz'), ...here, '--force'];
  await command(restore, async () => {
    await writeFile(join(story.stateDir, tokens), newer);
    await writeFile(join(story.stateDir, 'accounts/home/login-budget.json'), SUSPENDED);
    await rm(join(story.stateDir, 'journal.json'));
    return 'y';
  });
  expect([await read(tokens), await read('accounts/home/login-budget.json')]).toEqual([newer, SUSPENDED]);
  await command(restore);
  expect(await readFile(path('config.yaml.before-restore'), 'utf8')).toContain('# Newer.');
  expect(unpacked(await readFile(join(story.stateDir, 'before-restore.gz'))).documents).not.toHaveProperty(
    'journal',
  );
});

test('with --force the configuration is replaced, and the state still goes where the given one has it', async () => {
  const { path, type, here, story } = await running();
  await mkdir(join(story.stateDir, 'constituencies'), { recursive: true });
  await writeFile(join(story.stateDir, 'constituencies/dail-34.json'), '{"version":9}');
  await writeFile(join(story.stateDir, 'accounts/home/ledger-410004.json'), '{');
  // What cannot be read is left out, or the backup could not be restored.
  expect((await type('backup', path('b.gz'), ...here)).out).toContain(
    'Left out, since it cannot be read: accounts/home/ledger-…, constituencies/dail-34.\n',
  );
  const state_dir = path('elsewhere');
  await writeFile(path('new.yaml'), `state_dir: ${state_dir}\n`);
  // The daemon still runs on the state directory that the backup names.
  const restored = await type('restore', path('b.gz'), '--config', path('new.yaml'), '--yes', '--force');
  expect(restored.exitCode).toBe(0);
  expect(restored.out).toContain(`state: into ${state_dir}`);
  const text = await readFile(path('new.yaml'), 'utf8');
  expect(text).toContain('client_id: self-care');
  expect(text).toContain(`state_dir: ${state_dir}\n`);
  expect(text).not.toContain(story.stateDir);
  expect(await modeOf(join(state_dir, 'journal.json'))).toBe('600');
  await writeFile(join(state_dir, 'accounts/home/ledger-410004.json'), '{');
  await expect(type('restore', path('b.gz'), '--config', path('new.yaml'), '--yes')).rejects.toThrow(
    'has accounts/home/ledger-….json, which this version does not understand',
  );

  // The name of a state directory cannot write over the question.
  const config = 'state_dir: "./x\\e[2K\\rnothing"\n';
  await writeFile(
    path('c.gz'),
    packed({ made_at: MADE_AT, made_by: '0.1.0', config, secrets_taken: [], documents: {} }),
  );
  await expect(type('restore', path('c.gz'), '--config', path('none.yaml'), '--yes')).resolves.toMatchObject({
    out: expect.stringContaining('/x [2K nothing'),
  });
});

test('for another user: what was beside the configuration is beside it again, and a place that is not theirs is replaced', async () => {
  const { path, type, here, story, daemon } = await running();
  await type('backup', path('b.gz'), ...here);
  await story.stop(daemon);
  const old = unpacked(await readFile(path('b.gz')));
  expect(old.config).toContain('password_file: ./mqtt-password');
  // No user may make a directory there.
  const config = `${old.config?.replace(/^state_dir: .*$/m, 'state_dir: /proc/heat/state')}`;
  await writeFile(path('c.gz'), packed({ ...old, config }));
  await mkdir(path('new'));
  const { out, exitCode } = await type('restore', path('c.gz'), '--config', path('new/config.yaml'), '--yes');
  expect(exitCode).toBe(0);
  expect(out).toContain(`state: into ${path('new/state')}, since /proc/heat/state cannot be written here`);
  for (const one of ['./mqtt-password', 'accounts.0.password'])
    expect(out).toContain(`to be brought from the old machine, it is not there: ${one}\n`);
  expect(await modeOf(path('new/state/journal.json'))).toBe('600');
  await expect(type('restore', path('b.gz'), '--config', '/proc/heat.yaml', '--yes')).rejects.toMatchObject({
    exitCode: 2,
    hint: expect.stringContaining('Name a file in a folder that this user may write'),
  });
});

test('a restore names the link that is in its way, and changes nothing', async () => {
  const { path, type, here } = await running();
  await type('backup', path('b.gz'), ...here);
  await mkdir(path('elsewhere'));
  await mkdir(path('fresh'), { mode: 0o700 });
  await symlink(path('elsewhere'), path('fresh/accounts'));
  await writeFile(path('new.yaml'), `state_dir: ${path('fresh')}\n`);
  await expect(
    type('restore', path('b.gz'), '--config', path('new.yaml'), '--yes', '--force'),
  ).rejects.toMatchObject({ code: 'state_unwritable', hint: expect.stringContaining('Take the link away') });
  expect(await readdir(path('elsewhere'))).toEqual([]);
});

test('a restore that fails in the middle tells how it is finished, and leaves the copy of what was there alone', async () => {
  const { path, type, here } = await running();
  await type('backup', path('b.gz'), ...here);
  const whole = unpacked(await readFile(path('b.gz')));
  const [, ledger] = Object.entries(whole.documents).find(([name]) => name.includes('/ledger-')) ?? [];
  const long = `accounts/home/ledger-${'9'.repeat(200)}`;
  await writeFile(path('c.gz'), packed({ ...whole, documents: { ...whole.documents, [long]: ledger } }));
  // The longest path that Linux takes: its file can be there, and the temporary one that is to become it cannot.
  const left = 4095 - path('').length - `/${long}.json`.length;
  const state_dir = path(`${`${'x'.repeat(99)}/`.repeat(left / 100 - 1)}${'x'.repeat(100 + (left % 100))}`);
  const at = (name: string) => join(state_dir, name);
  await writeFile(path('new.yaml'), `state_dir: ${state_dir}\n`);
  const restore = (file: string) =>
    type('restore', path(file), '--config', path('new.yaml'), '--yes', '--force');
  await mkdir(state_dir, { recursive: true, mode: 0o700 });
  await writeFile(at('journal.json'), SUSPENDED);
  const unfinished = {
    code: 'restore_unfinished',
    hint: expect.stringMatching(/next start of heat2mqtt finishes it, and so does the same restore/),
  };
  await expect(restore('c.gz')).rejects.toMatchObject(unfinished);
  await writeFile(at('before-restore.gz'), 'what was there');
  await expect(restore('c.gz')).rejects.toMatchObject(unfinished);
  expect(await readFile(at('before-restore.gz'), 'utf8')).toBe('what was there');
});

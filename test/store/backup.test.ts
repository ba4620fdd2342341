// The file of a backup: whole or refused; and a restore that a crash has cut off.
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { Failure } from '../../src/foundation/failure.ts';
import {
  notUnderstood,
  pack,
  plainPart,
  readBackup,
  readDocuments,
  replaceDocuments,
  unpack,
} from '../../src/store/backup.ts';
import * as codecs from '../../src/store/documents.ts';
import { ROOT } from '../support/sources.ts';
import { openStack } from '../support/stack.ts';
import { typed } from '../support/typed.ts';
import { place } from './directory.ts';

const BUDGET = { refusals: 2, nextAttemptAt: 5, state: null, code: null, secretMark: 'mark', askedAt: null };
const DOCUMENTS = {
  installation: { version: 1, clientId: 'heat2mqtt-1', jitterFraction: 0.5 },
  'accounts/home/login-budget': { version: 1, ...BUDGET },
};
const PLAIN = {
  made_at: '2025-03-01T00:00:00.000Z',
  made_by: '0.1.0',
  config: 'mqtt: {}',
  secrets_taken: ['mqtt.password'],
  documents: DOCUMENTS,
};
const PACKED_BYTES = pack(PLAIN);

test('what is packed comes back; a backup with sealed secrets is refused in a sentence', () => {
  expect(unpack(PACKED_BYTES)).toEqual(PLAIN);
  const older = { ...JSON.parse(gunzipSync(PACKED_BYTES).toString('utf8')), sealed: { with: 'scrypt' } };
  expect(() => unpack(gzipSync(JSON.stringify(older)))).toThrow(
    'sealed by a passphrase; allowed: one without',
  );
});

test('in the plain part a login budget has no mark of a password, and no tokens are there', () => {
  const tokens = { 'accounts/home/tokens': { version: 1, owner: 'me', value: {} } };
  const plain = plainPart({ ...DOCUMENTS, ...tokens });
  expect(plain).toEqual({
    ...DOCUMENTS,
    'accounts/home/login-budget': { version: 1, ...BUDGET, secretMark: null },
  });
  expect(notUnderstood(plain)).toEqual([]);
});

test.each([
  '../../etc/passwd',
  'accounts/../../x/tokens',
  'accounts/home/ledger-../../x',
  'options',
  '__proto__',
])('no document is called %s', (name) => {
  const documents = JSON.parse(`{${JSON.stringify(name)}: {"version": 1}}`);
  expect(notUnderstood(documents)).toEqual([name]);
});

test('no kind of document is forgotten', async () => {
  const source = await readFile(join(ROOT, 'src/store/backup.ts'), 'utf8');
  for (const codec of Object.keys(codecs).filter((name) => name.endsWith('Codec')))
    expect(source).toContain(`, codecs.${codec}],`);
});

test('a document of a version to come is not understood', () => {
  expect(notUnderstood({ installation: { ...DOCUMENTS.installation, version: 2 } })).toEqual([
    'installation',
  ]);
  expect(notUnderstood(DOCUMENTS)).toEqual([]);
});

const gzipped = (json: unknown) => gzipSync(JSON.stringify(json));
const changed = (more: object) => gzipped({ heat2mqtt_backup: 1, ...PLAIN, ...more });

test.each<[string, Buffer]>([
  ['text', Buffer.from('hello')],
  ['nothing', Buffer.alloc(0)],
  ['cut off', PACKED_BYTES.subarray(0, -9)],
  ['with a changed byte', Buffer.from(PACKED_BYTES.map((byte, at) => (at === 40 ? byte ^ 1 : byte)))],
  ['no JSON', gzipSync('{')],
  ['null', gzipped(null)],
  ['of a version to come', changed({ heat2mqtt_backup: 99 })],
  ['with a number for the configuration', changed({ config: 7 })],
  ['with a configuration that is no YAML', changed({ config: 'a: [' })],
  ['with documents of another shape', changed({ documents: { journal: [] } })],
  ['with a document outside', changed({ documents: { '../x': {} } })],
])('a file that is %s is refused in a sentence', async (_, bytes) => {
  const folder = await openStack().folder();
  const file = join(folder, 'b.gz');
  const env = { HEAT2MQTT_STATE_DIR: join(folder, 'state'), HEAT2MQTT_CONFIG: join(folder, 'config.yaml') };
  await writeFile(file, bytes);
  const ended = await typed(['restore', file, '--yes', '--force'], { env }).catch((err) => err);
  expect(ended).toBeInstanceOf(Failure);
  expect([2, 3]).toContain(ended.exitCode);
  expect(ended.message.length).toBeLessThan(1_000);
});

test('what is no file, or too large, or too large when unpacked, is not read', async () => {
  const folder = await openStack().folder();
  const path = (name: string) => join(folder, name);
  await expect(readBackup(folder)).rejects.toThrow('something else than a file');
  await expect(readBackup(path('none'))).rejects.toThrow('ENOENT');
  // To open it as a file would take for ever.
  execFileSync('mkfifo', [path('pipe')]);
  await expect(readBackup(path('pipe'))).rejects.toThrow('something else than a file');
  for (const version of [0, -1, '1', null])
    expect(() => unpack(gzipSync(JSON.stringify({ heat2mqtt_backup: version })))).toThrow('something else');
  await writeFile(path('large'), '');
  await truncate(path('large'), 65 * 1024 * 1024);
  await expect(readBackup(path('large'))).rejects.toThrow('at most 64 MiB');
  const member = gzipSync(Buffer.alloc(16 * 1024 * 1024, ' '));
  expect(() => unpack(Buffer.concat(Array(17).fill(member)))).toThrow('256 MiB');
});

test('documents replace all others; what is none of ours stays', async () => {
  const { path, file } = await place();
  await replaceDocuments(path, { ...DOCUMENTS, journal: { version: 1, accounts: {} } });
  await writeFile(file('options.json'), '{}');
  await writeFile(file('config.yaml'), 'mqtt: {}');
  await replaceDocuments(path, DOCUMENTS);
  expect(await readDocuments(path)).toEqual(DOCUMENTS);
  expect((await readdir(path)).sort()).toEqual([
    'accounts',
    'config.yaml',
    'installation.json',
    'options.json',
  ]);
});

test('a restore follows no link to another place', async () => {
  const { path, file } = await place();
  const elsewhere = await openStack().folder();
  await mkdir(path);
  await symlink(elsewhere, file('accounts'));
  await expect(replaceDocuments(path, DOCUMENTS)).rejects.toMatchObject({ code: 'ELOOP' });
  expect(await readdir(elsewhere)).toEqual([]);
});

test('whatever a crash leaves of a restore, the next start brings it to its end', async () => {
  const { path, file, open } = await place();
  const tokens = codecs.tokensCodec.encode({ owner: 'me', value: {} } as never);
  await replaceDocuments(path, { ...DOCUMENTS, 'accounts/home/tokens': tokens });
  // As after a crash: all is written down, and nothing else is done.
  await mkdir(file('installation.json.blocked'));
  await rm(file('installation.json'));
  await mkdir(file('installation.json'));
  const write = { journal: { version: 1, accounts: {} }, ...DOCUMENTS };
  await expect(replaceDocuments(path, write)).rejects.toThrow();
  await expect(open()).rejects.toMatchObject({ code: 'state_unwritable' });
  await rm(file('installation.json'), { recursive: true });
  await open();
  expect(await readDocuments(path)).toEqual(write);
  expect(await readdir(path)).not.toContain('restoring.json');
});

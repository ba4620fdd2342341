// The file of a backup: whole or refused; and a restore that a crash has cut off.
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { Failure } from '../../src/foundation/failure.ts';
import { pack, readBackup, Survey, surveyBackup, withBackup } from '../../src/store/backup.ts';
import { TooLarge } from '../../src/store/documentStream.ts';
import * as codecs from '../../src/store/documents.ts';
import { replace } from '../../src/store/privateFiles.ts';
import { documentsOf, plainDocuments, replaceDocuments } from '../../src/store/restore.ts';
import { collected, packed, unpacked } from '../support/backups.ts';
import { ROOT } from '../support/sources.ts';
import { openStack } from '../support/stack.ts';
import { typed } from '../support/typed.ts';
import { place } from './directory.ts';

type Documents = Readonly<Record<string, unknown>>;

const BUDGET = {
  version: 1,
  refusals: 2,
  nextAttemptAt: 5,
  state: null,
  code: null,
  secretMark: 'mark',
  askedAt: null,
};
const INSTALLATION = { version: 1, clientId: 'heat2mqtt-1', jitterFraction: 0.5 };
const DOCUMENTS: Documents = {
  installation: INSTALLATION,
  'accounts/home/login-budget': BUDGET,
};
const HEAD = {
  made_at: '2025-03-01T00:00:00.000Z',
  made_by: '0.1.0',
  config: 'mqtt: {}',
  secrets_taken: ['mqtt.password'],
};
const PLAIN = { ...HEAD, documents: DOCUMENTS };
const PACKED_BYTES = packed(PLAIN);

async function* each(documents: Documents) {
  yield* Object.entries(documents);
}
const put = (path: string, documents: Documents) => replaceDocuments(path, each(documents));
async function whole(documents: AsyncIterable<readonly [string, unknown]>): Promise<Documents> {
  return Object.fromEntries(await collected(documents));
}
const readDocuments = (path: string) => whole(documentsOf(path));

/** Reads a file that has these bytes. */
async function readFileAs(bytes: Buffer | AsyncIterable<Buffer>) {
  const file = join(await openStack().folder(), 'b.gz');
  await replace(file, bytes);
  return withBackup(file, async (backup) => {
    const { survey, ...head } = await surveyBackup(backup);
    return { file, survey, head, documents: await whole(readBackup(backup)) };
  });
}

test('what is packed comes back, also as one text; a backup in one line too; one with sealed secrets is refused in a sentence', async () => {
  const { file, ...read } = await readFileAs(pack(HEAD, each(DOCUMENTS)));
  expect(read).toMatchObject({ head: HEAD, documents: DOCUMENTS });
  expect(unpacked(await readFile(file))).toEqual(PLAIN);
  expect(await readFileAs(PACKED_BYTES)).toMatchObject({ head: HEAD, documents: DOCUMENTS });
  await expect(
    readFileAs(gzipped({ heat2mqtt_backup: 1, ...PLAIN, sealed: { with: 'scrypt' } })),
  ).rejects.toThrow('sealed by a passphrase; allowed: one without');
});

test('what goes into a backup has no mark of a password in its login budget, and no tokens', async () => {
  const { path, file } = await place();
  await put(path, { ...DOCUMENTS, 'accounts/home/tokens': TOKENS });
  const survey = new Survey();
  expect(await whole(plainDocuments(path, survey))).toEqual({
    ...DOCUMENTS,
    'accounts/home/login-budget': { ...BUDGET, secretMark: null },
  });
  expect([survey.strange.size, survey.names.size]).toEqual([0, 3]);
  await writeFile(file('journal.json'), '{');
  await writeFile(file('replies.json'), '{"version":2}');
  const documents = await whole(plainDocuments(path, survey));
  expect(Object.keys(documents)).not.toContain('journal');
  expect([...survey.strange]).toEqual([
    ['journal', 'damaged'],
    ['replies', 'newer'],
  ]);
});

const TOKENS = codecs.tokensCodec.encode({
  owner: 'me',
  value: {
    accessToken: 'invented',
    refreshToken: null,
    obtainedAt: 1,
    accessExpiresAt: 2,
    refreshExpiresAt: null,
  },
});

/** The names of what is not understood. */
function notUnderstood(documents: Documents): string[] {
  const survey = new Survey();
  return Object.entries(documents).flatMap(([name, json]) => (survey.take(name, json) ? [] : [name]));
}

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
  expect(notUnderstood({ installation: { ...INSTALLATION, version: 2 } })).toEqual(['installation']);
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

test('what is no file, or has more than fits into memory, is not read', async () => {
  const folder = await openStack().folder();
  const path = (name: string) => join(folder, name);
  const read = (file: string) => withBackup(file, surveyBackup);
  await expect(read(folder)).rejects.toThrow('something else than a file');
  await expect(read(path('none'))).rejects.toThrow('ENOENT');
  // To open it as a file would take for ever.
  execFileSync('mkfifo', [path('pipe')]);
  await expect(read(path('pipe'))).rejects.toThrow('something else than a file');
  for (const version of [0, -1, '1', null])
    await expect(readFileAs(gzipped({ heat2mqtt_backup: version }))).rejects.toThrow('something else');
  await writeFile(path('large'), '');
  await truncate(path('large'), 3_000_000_000);
  await expect(read(path('large'))).rejects.toThrow('of something else');
  // The other limits: documentStream.test.ts.
  const [head, blank] = ['{"documents":{\n', ' '.repeat(16 * 1024 * 1024)].map((text) => gzipSync(text)) as [
    Buffer,
    Buffer,
  ];
  await expect(readFileAs(Buffer.concat([head, ...Array<Buffer>(5).fill(blank)]))).rejects.toThrow(
    'found a document of more than 64 MiB; allowed: at most 64 MiB',
  );
});

test('what could not be read again is refused at writing', async () => {
  const folder = await openStack().folder();
  const documents = { replies: { version: 1, replies: 'x'.repeat(64 * 1024 * 1024) } };
  await expect(replace(join(folder, 'b.gz'), pack(HEAD, each(documents)))).rejects.toThrow(TooLarge);
  expect(await readdir(folder)).toEqual([]);
});

test('documents replace all others; what is none of ours stays', async () => {
  const { path, file } = await place();
  await put(path, { ...DOCUMENTS, journal: { version: 1, accounts: {} } });
  await writeFile(file('options.json'), '{}');
  await writeFile(file('config.yaml'), 'mqtt: {}');
  await put(path, DOCUMENTS);
  expect(await readDocuments(path)).toEqual(DOCUMENTS);
  expect((await readdir(path)).sort()).toEqual([
    'accounts',
    'config.yaml',
    'installation.json',
    'options.json',
  ]);
});

test('a restore follows no link to another place, and changes nothing where there is one', async () => {
  const { path, file } = await place();
  const elsewhere = await openStack().folder();
  await mkdir(path);
  await symlink(elsewhere, file('accounts'));
  await expect(put(path, DOCUMENTS)).rejects.toMatchObject({ code: 'ELOOP' });
  expect(await readdir(elsewhere)).toEqual([]);
  expect(await readdir(path)).toEqual(['accounts']);
});

const JOURNAL = { version: 1, accounts: {} };
/** As a crash leaves it that comes when all is written down, and nothing else is done. */
async function interrupted(underWay: string | Buffer) {
  const directory = await place();
  const { path, file } = directory;
  await put(path, DOCUMENTS);
  await writeFile(file('restoring.json'), underWay);
  const listed = async () => (await readdir(path)).sort();
  return { ...directory, listed };
}

test('whatever a crash leaves of a restore, the next start brings it to its end', async () => {
  const write = { journal: JOURNAL, 'accounts/home/login-budget': BUDGET };
  const { path, file, open, listed } = await interrupted(
    JSON.stringify({ write, remove: ['installation', 'announced'] }),
  );
  // In the place of a file and of a folder, and both of no use.
  await mkdir(file('journal.json'));
  await rm(file('accounts'), { recursive: true });
  await writeFile(file('accounts'), '');
  await open();
  expect(await readDocuments(path)).toEqual(write);
  expect(await listed()).toEqual(['accounts', 'accounts.damaged', 'journal.json', 'journal.json.damaged']);
});

test('a link in the way of an interrupted restore is not followed, and the program starts', async () => {
  const write = { journal: JOURNAL, 'accounts/home/login-budget': BUDGET };
  const { file, open, listed, messages } = await interrupted(JSON.stringify({ write, remove: [] }));
  const elsewhere = await openStack().folder();
  await rm(file('accounts'), { recursive: true });
  await symlink(elsewhere, file('accounts'));
  await open();
  expect(await readdir(elsewhere)).toEqual([]);
  expect(messages('error')).toEqual([expect.stringContaining('an interrupted restore')]);
  expect(await listed()).toEqual(['accounts', 'installation.json', 'journal.json', 'restoring.json.damaged']);
});

// As a directory is that its user may not look into, which root could.
test.each<[string, (path: string) => unknown]>([
  ['a file is', (path) => writeFile(path, '')],
  ['what cannot be looked into is', (path) => symlink(path, path)],
])('speaks of no restore when %s in the place of the state directory', async (_, put) => {
  const { path, open, messages } = await place();
  await put(path);
  await open();
  expect(messages('error')).toEqual([]);
});

const WHOLE = JSON.stringify({ write: { journal: JOURNAL }, remove: ['installation'] });

test.each<[string, string | Buffer]>([
  ['empty', ''],
  ['cut off', WHOLE.slice(0, -9)],
  ['null', 'null'],
  ['a number', '7'],
  ['a list', '[]'],
  ['without its parts', '{}'],
  ['without what is to be removed', JSON.stringify({ write: { journal: JOURNAL } })],
  ['with a list of documents', JSON.stringify({ write: [JOURNAL], remove: [] })],
  ['with null for documents', JSON.stringify({ write: null, remove: [] })],
  ['with a number for a name', JSON.stringify({ write: {}, remove: [7] })],
  ['zeros after a power cut', '\0'.repeat(64)],
  ['not even text', Buffer.from([0xff, 0xfe, 0x00, 0xd8])],
  ...['../../x', 'accounts/../../x', '/tmp/x', 'config', 'accounts/home/ledger-../../x', '__proto__'].flatMap(
    (name): [string, string][] => [
      [`with ${name} to be written`, `{"write":{${JSON.stringify(name)}:{"x":1},"journal":{}},"remove":[]}`],
      [`with ${name} to be removed`, JSON.stringify({ write: {}, remove: ['installation', name] })],
    ],
  ),
])('what is left of a restore and is %s is set aside, and nothing else is changed', async (_, underWay) => {
  const { path, open, messages, listed } = await interrupted(underWay);
  const around = await readdir(join(path, '..'));
  await open();
  expect(await readDocuments(path)).toEqual(DOCUMENTS);
  expect(await listed()).toEqual(['accounts', 'installation.json', 'restoring.json.damaged']);
  expect(await readdir(join(path, '..'))).toEqual(around);
  expect(messages('error')).toEqual([expect.stringContaining('set aside')]);
  // Another restore is not kept from its work.
  await put(path, { journal: JOURNAL });
  expect(await listed()).toEqual(['accounts', 'journal.json', 'restoring.json.damaged']);
});

test.each<[string, (path: string) => unknown]>([
  ['a directory', (path) => mkdir(join(path, 'more'), { recursive: true })],
  ['a pipe', (path) => execFileSync('mkfifo', [path])],
  ['a link into nowhere', (path) => symlink('/nonexistent/x', path)],
  ['a link to what has no end', (path) => symlink('/dev/zero', path)],
])('%s in the place of what is left of a restore keeps nobody from a start', async (_, put) => {
  const { path, file, open, listed } = await interrupted('');
  await rm(file('restoring.json'));
  await put(file('restoring.json'));
  await open();
  expect(await readDocuments(path)).toEqual(DOCUMENTS);
  expect(await listed()).toEqual(['accounts', 'installation.json', 'restoring.json.damaged']);
});

test('a backup waits for no pipe, and leaves out what is no file', async () => {
  const { path, file } = await place();
  await put(path, DOCUMENTS);
  execFileSync('mkfifo', [file('journal.json')]);
  await mkdir(file('replies.json'));
  const found = await readDocuments(path);
  expect(notUnderstood(found)).toEqual(['journal', 'replies']);
  expect(found).toMatchObject(DOCUMENTS);
});

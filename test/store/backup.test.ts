// The file of a backup: whole or refused; and a restore that a crash has cut off.
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
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
import { RUNS } from '../support/property.ts';
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

const PACKED = fc.oneof(
  fc.jsonValue(),
  fc.record({
    heat2mqtt_backup: fc.constantFrom(1, 2, 'x'),
    made_at: fc.constant('2026-01-01T00:00:00.000Z'),
    made_by: fc.string(),
    config: fc.oneof(fc.string(), fc.constantFrom(null, 'state_dir: 7', 'a: [', 'state_dir: "\\0"')),
    documents: fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('journal', '../x')), fc.jsonValue()),
    sealed: fc.oneof(fc.constant(null), fc.jsonValue()),
  }),
);
const FILES = fc.oneof(
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  PACKED.map((json) => gzipSync(JSON.stringify(json) ?? '')),
  fc.nat(PACKED_BYTES.length - 1).map((length) => PACKED_BYTES.subarray(0, length)),
  fc.tuple(fc.nat(PACKED_BYTES.length - 1), fc.integer({ min: 1, max: 255 })).map(([at, by]) => {
    const changed = Buffer.from(PACKED_BYTES);
    changed[at] = (changed[at] ?? 0) ^ by;
    return changed;
  }),
);

test('any file is restored or refused in a sentence', async () => {
  const folder = await openStack().folder();
  const file = join(folder, 'b.gz');
  const env = { HEAT2MQTT_STATE_DIR: join(folder, 'state'), HEAT2MQTT_CONFIG: join(folder, 'config.yaml') };
  await fc.assert(
    fc.asyncProperty(FILES, async (bytes) => {
      await writeFile(file, bytes);
      const words = ['restore', file, '--yes', '--force'];
      const ended = await typed(words, { env }).catch((err) => err);
      if (!(ended instanceof Failure)) return void expect(ended).toMatchObject({ exitCode: 0 });
      expect([2, 3]).toContain(ended.exitCode);
      expect(ended.message.length).toBeLessThan(1_000);
    }),
    { numRuns: Math.ceil(RUNS / 4) },
  );
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

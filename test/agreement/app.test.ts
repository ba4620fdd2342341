// The folder of the Home Assistant app against the rules of the Supervisor, and against the program.
import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { ROOT } from '../support/sources.ts';

const read = (path: string) => readFile(`${ROOT}${path}`, 'utf8');
const app = parse(await read('app/config.yaml'));
const { version, homepage } = JSON.parse(await read('package.json'));

test('is this version, of the image of this version', async () => {
  expect(app).toMatchObject({ version, url: homepage, slug: 'heat2mqtt' });
  expect(await read('app/Dockerfile')).toContain(`FROM ghcr.io/heat2mqtt/heat2mqtt:${version} AS image\n`);
});

test('is one image for every processor, and the release makes it under the name that the Supervisor pulls', async () => {
  const { jobs } = parse(await read('.github/workflows/release.yml'));
  const { strategy, steps } = jobs.app;
  expect(strategy).toBeUndefined();
  const build = steps.find(({ id }: { id?: string }) => id === 'build').with;
  expect(build.platforms).toBe('linux/amd64,linux/arm64');
  const [name] = build.tags.replace(/\$\{\{ github\.repository_owner \}\}/, 'heat2mqtt').split(':');
  expect(app.image).toBe(name);
  const stages = [
    ...(await read('app/Dockerfile')).matchAll(/^FROM image AS for-(.+)\nLABEL io\.hass\.arch="(.+)"$/gm),
  ];
  expect(stages.map(([, platform, arch]) => [`linux/${platform}`, arch])).toEqual([
    ['linux/amd64', 'amd64'],
    ['linux/arm64', 'aarch64'],
  ]);
  expect(stages.map(([, , arch]) => arch).sort()).toEqual(app.arch);
});

test('asks for no more than the broker, the statistics and certificates', () => {
  expect(app.arch).toEqual(['aarch64', 'amd64']);
  expect(app.services).toEqual(['mqtt:need']);
  expect(app.homeassistant_api).toBe(true);
  expect(app.map).toEqual([{ type: 'ssl' }]);
  for (const right of ['host_network', 'hassio_api', 'privileged', 'full_access', 'docker_api', 'devices'])
    expect(app).not.toHaveProperty(right);
});

test('each type of an option is one that the Supervisor knows', () => {
  const known =
    /^(str|bool|email|url|password|port|int(\(\d*,\d*\))?|float(\(\d*,\d*\))?|match\(.+\)|list\([\w|-]+\))\??$/;
  const types = Object.values(app.schema).flatMap((type) =>
    Array.isArray(type) ? type.flatMap((entry) => Object.values(entry)) : [type],
  );
  expect(types.filter((type) => !known.test(String(type)))).toEqual([]);
  const required = Object.keys(app.schema).filter((name) => !String(app.schema[name]).endsWith('?'));
  expect(Object.keys(app.options)).toEqual(required);
});

test('each option and port has a name in English, and its page tells every option that must be given', async () => {
  const page = await read('app/DOCS.md');
  for (const name of Object.keys(app.options)) expect(page).toContain(`\`${name}\``);
  const { configuration, network } = parse(await read('app/translations/en.yaml'));
  expect(Object.keys(configuration).sort()).toEqual(Object.keys(app.schema).sort());
  for (const words of Object.values(configuration))
    expect(words).toEqual({ name: expect.any(String), description: expect.any(String) });
  expect(Object.keys(network)).toEqual(Object.keys(app.ports));
});

test('the pages are there, and the pictures have the sizes of the store', async () => {
  expect((await readdir(`${ROOT}app`)).sort()).toEqual([
    ...['CHANGELOG.md', 'DOCS.md', 'Dockerfile', 'README.md', 'config.yaml', 'icon.png', 'logo.png'],
    'translations',
  ]);
  // Width and height stand in the first chunk of a PNG.
  const size = async (path: string) => {
    const bytes = await readFile(`${ROOT}${path}`);
    return [bytes.subarray(1, 4).toString(), bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  };
  expect(await size('app/icon.png')).toEqual(['PNG', 128, 128]);
  expect(await size('app/logo.png')).toEqual(['PNG', 250, 100]);
});

test('the repository has a name, and no second file that the Supervisor would take for an app', async () => {
  expect(parse(await read('repository.yaml'))).toMatchObject({ name: expect.any(String), url: homepage });
  const elsewhere = ['src', 'test', 'docs', 'examples', 'systemd', 'scripts'].map((folder) =>
    readdir(`${ROOT}${folder}`, { recursive: true }).catch(() => []),
  );
  const names = (await Promise.all(elsewhere)).flat();
  expect(names.filter((path) => /(^|\/)config\.(ya?ml|json)$/.test(path))).toEqual([]);
});

test('a store without advanced mode shows it', () => {
  expect(app.stage).toBe('stable');
});

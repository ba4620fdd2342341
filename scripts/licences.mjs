// Who else is in the bundle: the licence texts that must travel with it, and a bill of materials for scanners.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

const FOLDER = /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;
const TEXT = /^(licen[cs]e|copying|notice)(\.|$)/i;

/** The packages of which at least a byte is in the bundle, by name. Fails when one of them brings no licence text. */
export async function bundledPackages(metafile) {
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs));
  const used = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  const folders = new Set(used.flatMap(([path]) => FOLDER.exec(path)?.[0] ?? []));
  const packages = await Promise.all([...folders].map(described));
  return packages.sort((a, b) => compare(a.name, b.name) || compare(a.version, b.version));
}

async function described(folder) {
  const { name, version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const files = (await readdir(folder)).filter((file) => TEXT.test(file)).sort();
  if (files.length === 0) files.push(...(await withLicence(folder)));
  if (files.length === 0) throw new Error(`${name} ${version} (${license}) brings no licence text`);
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
  return { name, version, license, text: texts.map((text) => text.trim()).join('\n\n') };
}

/** Some packages have it in their README only. */
async function withLicence(folder) {
  const readme = await readFile(join(folder, 'README.md'), 'utf8').catch(() => '');
  return /Permission is hereby granted|licensed under the MIT license/i.test(readme) ? ['README.md'] : [];
}

const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

export function licencesText(packages) {
  const rule = '-'.repeat(80);
  const head = 'heat2mqtt carries code of these packages, under the licences below.';
  const parts = packages.map(
    ({ name, version, license, text }) => `${name} ${version} (${license})\n\n${text}`,
  );
  return `${[head, ...parts].join(`\n\n${rule}\n`)}\n`;
}

/** CycloneDX, which image scanners look for. Without a time, and with a serial number of its content: the same bundle, the same text. */
export function billOfMaterials(about, packages) {
  const component = (type, { name, version, license }) => ({
    type,
    'bom-ref': `pkg:npm/${name.replace('@', '%40')}@${version}`,
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    licenses: [{ expression: license }],
  });
  const content = {
    metadata: { component: component('application', about) },
    components: packages.map((one) => component('library', one)),
  };
  const serialNumber = `urn:uuid:${uuidOf(JSON.stringify(content))}`;
  const bom = { bomFormat: 'CycloneDX', specVersion: '1.5', serialNumber, version: 1, ...content };
  return `${JSON.stringify(bom, null, 1)}\n`;
}

/** RFC 9562, version 8. actions/attest takes a bill of materials only with a serial number. */
function uuidOf(text) {
  const hex = createHash('sha256').update(text).digest('hex');
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-8$3-a$4-$5');
}

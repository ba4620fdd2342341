// Known weaknesses of the packages in the bundle, by its own bill of materials: to npm all packages are for development.
// Exit code 1: there are some; 2: npm could not ask for them.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const [, , bomFile = 'dist/sbom.cdx.json'] = process.argv;
const parsed = async (file) => JSON.parse(await readFile(file, 'utf8'));

const { components } = await parsed(bomFile);
const { packages } = await parsed('package-lock.json');
const inBundle = new Set(components.map(({ name, version }) => `${name}@${version}`));

// npm exits with 1 when it finds something.
const output = await promisify(execFile)('npm', ['audit', '--json'], { maxBuffer: 64 << 20 }).catch(
  (err) => err,
);
const { vulnerabilities, error } = audited(output.stdout);
if (vulnerabilities === undefined) {
  console.error(`npm could not look for known weaknesses: ${error ?? output.stderr ?? output}`);
  process.exit(2);
}

const found = Object.values(vulnerabilities).flatMap(({ name, nodes, via }) => {
  const versions = nodes
    .map((node) => packages[node]?.version)
    .filter((version) => inBundle.has(`${name}@${version}`));
  // A text in place of an advisory names the dependency that has it.
  const advisories = via.filter((one) => typeof one === 'object');
  return versions.flatMap((version) =>
    advisories.map(({ severity, title, url }) => `${name} ${version}: ${severity}, ${title} (${url})`),
  );
});
for (const line of found) console.error(line);
console.log(`${components.length} packages in the bundle, known weaknesses: ${found.length}`);
process.exit(found.length > 0 ? 1 : 0);

function audited(text) {
  try {
    const { vulnerabilities, error, message } = JSON.parse(text);
    return { vulnerabilities, error: message ?? error?.summary };
  } catch {
    return {};
  }
}

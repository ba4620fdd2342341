// What a maintainer and the release workflow do with a version: `bump 1.2.3`, `check v1.2.3`, `notes`, `image-tags NAME`.
import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';

// No 1.2.3-rc.1: from main it would be offered to everybody who has the Home Assistant app.
const VERSION = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/;
/** Where the version stands beside package.json and its lock. test/agreement compares them. */
const PLACES = {
  Dockerfile: /(?<=org\.opencontainers\.image\.version=")[^"]+/,
  'compose.yaml': /(?<=ghcr\.io\/heat2mqtt\/heat2mqtt:)\S+/g,
  'compose.fleet.yaml': /(?<=ghcr\.io\/heat2mqtt\/heat2mqtt:)\S+/g,
  'app/config.yaml': /(?<=^version: ).+/m,
  'app/Dockerfile': /(?<=^FROM ghcr\.io\/heat2mqtt\/heat2mqtt:)\S+/m,
};

const at = (path) => new URL(`../${path}`, import.meta.url);
const read = (path) => readFile(at(path), 'utf8');

class Refusal extends Error {}

function run(command, args, stdio = 'pipe') {
  const { status, stdout } = spawnSync(command, args, { cwd: at('.'), encoding: 'utf8', stdio });
  if (status !== 0) throw new Refusal(`"${[command, ...args].join(' ')}" failed`);
  return stdout?.trim();
}

function isBefore(version, other) {
  const [a, b] = [version, other].map((one) => one.split('.').map(Number));
  const at = a.findIndex((number, index) => number !== b[index]);
  return at !== -1 && a[at] < b[at];
}

const versionNow = async () => JSON.parse(await read('package.json')).version;

/** The text below the heading of a version; `null` without one. */
function sectionOf(changelog, version) {
  const sections = changelog.split(/^## /m).slice(1);
  const found = sections.find((section) => section.split(/[\s(]/, 1)[0] === version);
  return found === undefined ? null : found.slice(found.indexOf('\n')).trim();
}

const commands = {
  /** Writes the version everywhere, dates the changelog, and commits. Whoever calls it tags and pushes. */
  async bump(version = '') {
    if (!VERSION.test(version)) throw new Refusal(`"${version}" is no version such as 1.2.3`);
    const now = await versionNow();
    if (isBefore(version, now)) throw new Refusal(`${version} is older than ${now}`);
    if (run('git', ['status', '--porcelain']) !== '')
      throw new Refusal('the tree is dirty: commit or stash first');
    if (run('git', ['tag', '--list', `v${version}`]) !== '')
      throw new Refusal(`the tag v${version} exists already`);
    const changelog = await read('CHANGELOG.md');
    const heading = /^## Unreleased.*$/m;
    if (!heading.test(changelog)) throw new Refusal('CHANGELOG.md has no section "Unreleased"');
    run('npm', ['test'], 'inherit');
    // Of the commit before, so that the same command gives the same text.
    const day = run('git', ['log', '-1', '--format=%cs']);
    try {
      await writeFile(at('CHANGELOG.md'), changelog.replace(heading, `## ${version} (${day})`));
      run('npm', ['version', version, '--no-git-tag-version', '--allow-same-version', '--ignore-scripts']);
      for (const [path, pattern] of Object.entries(PLACES))
        await writeFile(at(path), (await read(path)).replace(pattern, version));
      run('npm', ['run', '--silent', 'unit', '--', 'agreement'], 'inherit');
      run('git', ['commit', '--quiet', '--all', '--message', `chore: release ${version}`]);
    } catch (err) {
      run('git', ['checkout', '--quiet', 'HEAD', '--', '.']);
      throw err;
    }
    const tag = `git tag --sign v${version} --message "heat2mqtt ${version}"`;
    console.log(`Committed. Now: git push. Once ci is green: ${tag} && git push origin v${version}`);
  },

  /** Whether a tag may become a release. */
  async check(tag = '') {
    const version = await versionNow();
    if (tag !== `v${version}`) throw new Refusal(`the tag is ${tag}, and package.json says ${version}`);
    for (const [path, pattern] of Object.entries(PLACES))
      for (const [found] of (await read(path)).matchAll(new RegExp(pattern, 'gm')))
        if (found !== version) throw new Refusal(`${path} says ${found}, and package.json ${version}`);
    if (!sectionOf(await read('CHANGELOG.md'), version))
      throw new Refusal(`CHANGELOG.md has no section "## ${version} (date)"`);
    const merged = spawnSync('git', ['merge-base', '--is-ancestor', 'HEAD', 'origin/main'], { cwd: at('.') });
    if (merged.status !== 0) throw new Refusal('this commit is not on origin/main');
    console.log(`${tag} may be released.`);
  },

  /** The section of the changelog that belongs to this version, as GitHub shows a release: it breaks lines, and knows no folder. */
  async notes() {
    const { version, homepage } = JSON.parse(await read('package.json'));
    const section = sectionOf(await read('CHANGELOG.md'), version);
    if (!section) throw new Refusal(`CHANGELOG.md has no section "## ${version} (date)"`);
    const text = `${section}\n\nHow to verify what you downloaded: [docs/verify.md](docs/verify.md).`;
    console.log(
      text.replace(/\r?\n {2}(?=\S)/g, ' ').replace(/\]\((?!https?:)/g, `](${homepage}/blob/v${version}/`),
    );
  },

  /** An output of a step: `tags=NAME:1.2.3,NAME:1.2,NAME:latest`. */
  async 'image-tags'(name = '') {
    const version = await versionNow();
    const names = [version, version.replace(/\.\d+$/, ''), 'latest'];
    console.log(`tags=${names.map((tag) => `${name.toLowerCase()}:${tag}`).join(',')}`);
  },
};

const [, , command = '', ...args] = process.argv;
if (!Object.hasOwn(commands, command)) {
  console.error(`usage: node scripts/release.mjs ${Object.keys(commands).join('|')}`);
  process.exit(2);
}
await commands[command](...args).catch((err) => {
  if (!(err instanceof Refusal)) throw err;
  console.error(`Not released: ${err.message}.`);
  process.exit(1);
});

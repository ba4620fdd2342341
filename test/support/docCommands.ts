// The commands in README and docs, as their readers would type them, and where those are tried that no test can run.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './sources.ts';

export interface DocCommand {
  readonly file: string;
  readonly line: number;
  readonly command: string;
}

/** Run by test/e2e/docs.test.ts, page by page, in a folder with a configuration, beside a broker and the daemon. */
export const RUN =
  /^(heat2mqtt(?! (energy-dashboard|restore|setup)|.*\| influx )|mosquitto_(pub|sub)|tar|mkdir|cp|chmod|printf|cat)\b/;

/** Cannot be run in a scratch folder, and why that is no gap. */
const ELSEWHERE: readonly (readonly [RegExp, string])[] = [
  [/^npm ci && npm (test|run demo)\b/, '.ci/run does the first, test/e2e/demo.test.ts the second'],
  [
    /^heat2mqtt restore /,
    'refused beside the running daemon of these tests; test/story/backup.test.ts restores',
  ],
  [/^zcat .* \| jq /, 'needs jq'],
  [/^heat2mqtt export .* \| influx /, 'needs InfluxDB; test/cli reads the lines'],
  [/^heat2mqtt setup$/, 'asks a person; test/cli/setup.test.ts answers'],
  [/^sed .* \| sudo tee /, 'changes the system; test/image types docs/systemd.md in a Debian of its own'],
  [
    /^npm (ci|install|i|link|run build|pack)\b/,
    'installs into the system; the package is installed by test/e2e',
  ],
  [/^(git|curl|wget) /, 'needs the network'],
  [
    /^(cosign|gh|grype|npm audit|sha256sum) /,
    'needs a release; test/e2e/release.test.ts makes one up to there, and builds it twice',
  ],
  [/^(docker|podman) /, 'test/image builds and runs the image, and types what goes into the container'],
  [/^broker=/, 'test/agreement/systemd.test.ts types it, and test/image in a Debian of its own'],
  [/^sudo /, 'changes the system; test/image types docs/systemd.md in a Debian of its own'],
  [
    /^(openssl|echo|for) /,
    'makes the secrets of compose.fleet.yaml; test/e2e-fleet has its own, and asks the questions of the page',
  ],
  [
    /^(install .*|nano|rm -f|sed .*) (\.env|accounts\.csv)\b|^sed .*> \.env\b/,
    'about files beside the compose files; test/agreement/compose.test.ts reads .env.example, and types the commands of an upgrade',
  ],
  [/^(apt|apt-get|systemctl|journalctl) /, 'changes the system, or looks into it'],
  [/^heat2mqtt energy-dashboard/, 'test/e2e-home-assistant types it beside a real Home Assistant'],
  [/^ha /, 'a command of Home Assistant OS'],
];

const BLOCK = /^([ ]*)```(sh|bash|console|shell)\n([\s\S]*?)^\1```$/gm;

/** README.md and what is below docs. */
export const pages = (): string[] => [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .sort()
    .map((file) => `docs/${file}`),
];

export const docCommands = (): DocCommand[] =>
  pages().flatMap((file) => commandsOf(file, readFileSync(join(ROOT, file), 'utf8')));

export function commandsOf(file: string, text: string): DocCommand[] {
  return [...text.matchAll(BLOCK)].flatMap(({ index, 3: body = '' }) => {
    const first = text.slice(0, index).split('\n').length + 1;
    const commands: { line: number; command: string }[] = [];
    let isContinued = false;
    body.split('\n').forEach((raw, at) => {
      const piece = raw.trim().replace(/^\$ /, '');
      const last = commands.at(-1);
      if (isContinued && last) last.command = `${last.command.slice(0, -1).trimEnd()} ${piece}`;
      else if (piece !== '' && !piece.startsWith('#')) commands.push({ line: first + at, command: piece });
      isContinued = piece.endsWith('\\');
    });
    return commands.map(({ line, command }) => ({ file, line, command: command.replace(/\s+#\s.*$/, '') }));
  });
}

export const reasonElsewhere = (command: string): string | undefined =>
  ELSEWHERE.find(([pattern]) => pattern.test(command))?.[1];

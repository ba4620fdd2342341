// heat2mqtt report: a diagnosis to paste into a bug report, from the configuration and the state directory. Asks nobody.
import os from 'node:os';
import { ConfigInvalid } from '../config/load.ts';
import { showConfig } from '../config/show.ts';
import { zone as zoneOf } from '../domain/period.ts';
import { about } from '../foundation/about.ts';
import { EXIT } from '../foundation/failure.ts';
import { repliesCodec } from '../store/documents.ts';
import { type StateDirectory, visitStateDirectory } from '../store/stateDirectory.ts';
import type { Command } from './command.ts';
import { askHealth } from './healthcheck.ts';
import type { Io } from './io.ts';
import { reportAccount, type Section } from './reportAccount.ts';
import { loadSettings, openLog, type Settings } from './settings.ts';

export const report: Command = async (given, io) => {
  const sections: Section[] = [versions()];
  const settings = await loadSettings(given, io).catch((err: unknown) => {
    if (!(err instanceof ConfigInvalid)) throw err;
    sections.push(['Configuration is invalid', err.message.split('\n')]);
    return null;
  });
  if (settings !== null) sections.push(...(await sectionsOf(settings, io)));
  const text = sections.map(
    ([head, lines]) => `## ${head}\n\n${lines.map((line) => `    ${line}\n`).join('')}`,
  );
  const whole = `# ${about.name} report\n\n${text.join('\n')}`;
  io.out(withoutHome(settings?.scrubber.scrub(whole) ?? whole, io.env.HOME));
  return settings === null ? EXIT.config : EXIT.fine;
};

async function sectionsOf(settings: Settings, io: Io): Promise<Section[]> {
  const { config, scrubber } = settings;
  const zone = zoneOf(config.usage.timezone);
  const log = await openLog({ level: 'silent', format: 'json' }, scrubber, io);
  const state = visitStateDirectory(config.state_dir, log);
  const now = Date.now();
  const accounts: Section[] = [];
  for (const { id } of config.accounts) accounts.push(...(await reportAccount(state, id, zone, now)));
  const clock = `${zone.iso(now)} in ${zone.name}; this machine: ${new Date(now).toString().replace(/ \(.*/, '')}`;
  return [
    ['Clock', [clock, `up for ${Math.round(os.uptime() / 60)} minutes`]],
    ['Daemon', [(await askHealth(config)).words]],
    ['Configuration', showConfig(settings, 'stranger').trimEnd().split('\n')],
    ...accounts,
    ['Shapes of replies (keys and types, no values)', await replies(state, zone.iso)],
  ];
}

function versions(): Section {
  const { release, arch, platform } = process;
  const memory = `${Math.round(os.totalmem() / 1024 / 1024)} MiB`;
  const system = `${platform} ${os.release()} on ${arch}, ${os.cpus().length} cores, ${memory}`;
  return ['Versions', [`${about.name} ${about.version}`, `${release.name} ${process.version}`, system]];
}

async function replies(state: StateDirectory, iso: (at: number) => string): Promise<string[]> {
  const known = await state.document('replies', repliesCodec).read();
  const lines = Object.entries(known?.replies ?? {}).flatMap(([what, shapes]) =>
    shapes.flatMap(({ firstSeenAt, status, shape }) => [
      `${what}, HTTP ${status}, first seen ${iso(firstSeenAt)}`,
      ...shape.map((line) => `  ${line}`),
    ]),
  );
  return lines.length > 0 ? lines : ['none seen yet'];
}

/** A home directory carries a name. In a container it is `/`, or there is none. */
function withoutHome(text: string, home = ''): string {
  const isNamed = /^\/[^/]/.test(home);
  return (isNamed ? text.replaceAll(home, '~') : text).replace(/\/(home|Users)\/[^/\s]+/g, '/$1/…');
}

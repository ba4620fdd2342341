// The systemd service of a configuration: the unit that comes with the program, and what it has to say otherwise here.
import { existsSync, realpathSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { writeFile } from '../writing.ts';

/** A program, and the systemd unit that comes with it. */
type Unit = Readonly<Record<'program' | 'unit', string>>;

/** The unit of the file that runs. `null`: the package has no unit, as in a container. */
export function unitOf(file: string): Unit | null {
  if (!existsSync(file)) return null;
  const program = realpathSync(file);
  const unit = join(dirname(program), '../systemd/heat2mqtt.service');
  return existsSync(unit) ? { program, unit } : null;
}

/**
 * Writes beside the configuration what the unit has to say otherwise, and resolves to what a person types to install both. The
 * service runs as this user, who can read configuration and secrets, and writes nowhere but beside the configuration.
 */
export async function writeService(configuration: string, { program, unit }: Unit): Promise<string> {
  const quoted = (text: string) => `"${text.replaceAll('%', '%%').replaceAll('"', '\\"')}"`;
  const folder = dirname(configuration);
  const file = join(folder, 'heat2mqtt-service.conf');
  const changes = `# Written by heat2mqtt setup: which program, which configuration, and which user.
[Service]
ExecStart=
ExecStart=${quoted(process.execPath)} ${quoted(program)} run --config ${quoted(configuration)}
DynamicUser=no
User=${userInfo().username}
# The configuration names the files of its secrets, and its state directory.
LoadCredential=
StateDirectory=
ProtectHome=no
ReadWritePaths=${quoted(folder)}
`;
  await writeFile(file, changes);
  const [from, written] = [unit, file].map((path) => (/^[\w./-]+$/.test(path) ? path : `"${path}"`));
  return `Written: ${file}. To install the service, type these (heat2mqtt does not become root by itself):

  sudo cp ${from} /etc/systemd/system/
  sudo install -D -m 644 ${written} /etc/systemd/system/heat2mqtt.service.d/setup.conf
  sudo systemctl daemon-reload
  sudo systemctl enable --now heat2mqtt

`;
}

// A systemd service for this program and one configuration: the unit of the package, and what is different here.
import { existsSync, realpathSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { replace } from '../store/privateFiles.ts';

interface Service {
  /** The unit that comes with the program. */
  readonly unit: string;
  /** What replaces some of its lines, and the file beside the configuration that it is written to. */
  readonly changes: string;
  readonly file: string;
}

/** `program`: the path of the file that runs. `null`: the package has no unit, as in a container. */
export function serviceFor(configuration: string, program: string): Service | null {
  if (!existsSync(program)) return null;
  const path = realpathSync(program);
  const unit = join(dirname(path), '../systemd/heat2mqtt.service');
  if (!existsSync(unit)) return null;
  const folder = dirname(configuration);
  return {
    unit,
    changes: changesFor({ configuration, program: path }),
    file: join(folder, 'heat2mqtt-service.conf'),
  };
}

/** It runs as this user, who can read configuration and secrets, and writes nowhere but beside the configuration. */
function changesFor({ configuration, program }: { configuration: string; program: string }): string {
  const quoted = (text: string) => `"${text.replaceAll('%', '%%').replaceAll('"', '\\"')}"`;
  const folder = dirname(configuration);
  return `# Written by heat2mqtt setup: which program, which configuration, and which user.
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
}

/** Writes the changes, and resolves to what a person types to install both. Nothing else is changed. */
export async function writeService({ unit, changes, file }: Service): Promise<string> {
  await replace(file, changes);
  const [from, written] = [unit, file].map((path) => (/^[\w./-]+$/.test(path) ? path : `"${path}"`));
  return `Written: ${file}. To install the service, type these (heat2mqtt does not become root by itself):

  sudo cp ${from} /etc/systemd/system/
  sudo install -D -m 644 ${written} /etc/systemd/system/heat2mqtt.service.d/setup.conf
  sudo systemctl daemon-reload
  sudo systemctl enable --now heat2mqtt

`;
}

// The files that `setup` writes: the configuration with comments, and what systemd needs to know of it.
import { existsSync, realpathSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import type { ProviderAddresses } from '../config/providers.ts';
import { replace } from '../store/privateFiles.ts';

/** Pieces of a configuration, as far as they are answered. */
export interface Answers {
  readonly provider?: Partial<ProviderAddresses>;
  readonly usage?: { readonly timezone: string };
  /** `password_file` is `null` where a person signs in, on another device. */
  readonly account?: { readonly username: string; readonly password_file: string | null };
  /** `embedded`: heat2mqtt brings its own broker. */
  readonly broker?: {
    readonly url?: string;
    readonly username?: string;
    readonly password_file?: string;
    readonly ca_file?: string;
    readonly embedded?: {
      readonly port: number;
      readonly host: string;
      readonly username?: string;
      readonly password_file?: string;
    };
  };
  readonly home_assistant?: { readonly url: string; readonly token_file: string } | null;
}

/** Stands for what is not answered yet, so that each answer can be tried alone. */
const FILLER: Required<Answers> = {
  provider: { issuer: 'https://x.invalid', api_url: 'https://x.invalid', client_id: 'x', scopes: ['openid'] },
  usage: { timezone: 'UTC' },
  account: { username: 'x', password_file: null },
  broker: { embedded: { port: 1883, host: '127.0.0.1' } },
  home_assistant: null,
};

/** `stateDir`: `null` leaves it to the environment. */
export function fileFrom(answers: Answers, stateDir: string | null): string {
  const { account, broker, usage, home_assistant } = { ...FILLER, ...answers };
  const { username, password_file } = account;
  const byPerson = password_file === null;
  const signIn = byPerson ? { sign_in: 'device' } : {};
  const provider = { ...FILLER.provider, ...answers.provider, ...signIn };
  const state =
    stateDir === null
      ? ''
      : `# Tokens, readings and the login budget. A container has a place of its own: take this away there.
${lines({ state_dir: stateDir }, '')}

`;
  const home =
    home_assistant === null
      ? `# Late readings on their true day in Home Assistant: take away the "# " and see docs/energy-dashboard.md
# home_assistant:
#   url: http://homeassistant.local:8123
#   token_file: ./ha-token
`
      : `# Late readings on their true day in Home Assistant: docs/energy-dashboard.md
home_assistant:
${lines(home_assistant, '  ')}
`;
  return `# The configuration of heat2mqtt, written by \`heat2mqtt setup\`. Every other key, with its default:
# docs/configuration.md, or \`heat2mqtt config example\`. To try what you change: \`heat2mqtt check --live\`
version: 1

# Where the account signs in (issuer), and where its readings are (api_url).
provider:
${lines(provider, '  ')}

# The login at the provider. ${byPerson ? '`heat2mqtt login` signs in, on any device.' : 'The password is in a file of its own; a changed file counts without a restart.'}
accounts:
  - ${lines({ username, ...(byPerson ? {} : { password_file }) }, '    ').trimStart()}

# The MQTT broker.${broker.embedded ? ` heat2mqtt brings its own${broker.embedded.username ? ', with the user that all its clients log in with.' : '.\n# Only this machine reaches it. For others it needs host 0.0.0.0, username and password_file: docs/configuration.md'}` : ''}
mqtt:
${lines(broker, '  ')}

# When the provider is asked, and the time zone in which days are cut.
usage:
${lines({ schedule: '23 */4 * * *', ...usage }, '  ')}

${state}${home}`;
}

/** JSON is YAML, whatever characters a value has. */
const lines = (section: object, indent: string): string =>
  Object.entries(section)
    .map(([key, value]) => `${indent}${key}: ${JSON.stringify(value)}`)
    .join('\n');

interface Service {
  /** The systemd unit that comes with the program. */
  readonly unit: string;
  /** What replaces some of its lines, and the file beside the configuration that it is written to. */
  readonly changes: string;
  readonly file: string;
}

/**
 * It runs as this user, who can read configuration and secrets, and writes nowhere but beside the configuration.
 * `program`: the path of the file that runs. `null`: the package has no unit, as in a container.
 */
export function serviceFor(configuration: string, program: string): Service | null {
  if (!existsSync(program)) return null;
  const path = realpathSync(program);
  const unit = join(dirname(path), '../systemd/heat2mqtt.service');
  if (!existsSync(unit)) return null;
  const quoted = (text: string) => `"${text.replaceAll('%', '%%').replaceAll('"', '\\"')}"`;
  const folder = dirname(configuration);
  const changes = `# Written by heat2mqtt setup: which program, which configuration, and which user.
[Service]
ExecStart=
ExecStart=${quoted(process.execPath)} ${quoted(path)} run --config ${quoted(configuration)}
DynamicUser=no
User=${userInfo().username}
# The configuration names the files of its secrets, and its state directory.
LoadCredential=
StateDirectory=
ProtectHome=no
ReadWritePaths=${quoted(folder)}
`;
  return { unit, changes, file: join(folder, 'heat2mqtt-service.conf') };
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

// The answers of `setup` as a configuration file with comments.
import type { ProviderAddresses } from '../config/providers.ts';

/** Pieces of a configuration. */
export interface Answers {
  readonly provider: ProviderAddresses;
  readonly usage: { readonly timezone: string };
  /** `password_file` is `null` where a person signs in, on another device. */
  readonly account: { readonly username: string; readonly password_file: string | null };
  /** `embedded`: heat2mqtt brings its own broker. */
  readonly broker: {
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
  readonly home_assistant: { readonly url: string; readonly token_file: string } | null;
}

/** `stateDir`: `null` leaves it to the environment. */
export function fileFrom(answers: Answers, stateDir: string | null): string {
  const { provider, account, broker, usage, home_assistant } = answers;
  const { username, password_file } = account;
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
${lines({ ...provider, ...(password_file === null ? { sign_in: 'device' } : {}) }, '  ')}

# The login at the provider. ${password_file === null ? '`heat2mqtt login` signs in, on any device.' : 'The password is in a file of its own; a changed file counts without a restart.'}
accounts:
  - ${lines({ username, ...(password_file === null ? {} : { password_file }) }, '    ').trimStart()}

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

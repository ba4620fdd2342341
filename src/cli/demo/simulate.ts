// heat2mqtt simulate: the simulated provider alone, with a configuration that works with it.
import { systemClock } from '../../foundation/clock.ts';
import { EXIT } from '../../foundation/failure.ts';
import type { AccountOptions } from '../../simulator/accounts.ts';
import type { Simulator } from '../../simulator/provider.ts';
import type { Command } from '../command.ts';
import { untilInterrupted } from '../settings.ts';
import { onSomePort, portFrom } from './ports.ts';

// Fixed, so that a configuration that was saved works the next time too.
const USUAL_PORT = 8180;

export const simulate: Command = async (given, io) => {
  const wanted = portFrom(given.options.port);
  // Loaded here, since hardly any other command needs it.
  const { startSimulator } = await import('../../simulator/provider.ts');
  const { demoAccounts } = await import('../../simulator/accounts.ts');
  const accounts = demoAccounts();
  const start = (port: number) => startSimulator({ clock: systemClock, accounts, port });
  const simulator = await onSomePort(wanted, USUAL_PORT, start);
  // Other clients of such services send no PKCE challenge.
  simulator.switches.token.pkceRequired = false;
  const [redirectUri = ''] = simulator.switches.token.redirectUris;
  try {
    for (const account of accounts) io.out(configurationFor(simulator, account, redirectUri));
    await untilInterrupted(io);
  } finally {
    await simulator.stop();
  }
  return EXIT.fine;
};

/** All of it is YAML, so that it can be written to a file as it is. */
function configurationFor(
  { urls }: Simulator,
  { username, password }: AccountOptions,
  redirectUri: string,
): string {
  return `# A simulated heat provider runs on this machine until Ctrl-C. This is a configuration that works with it.
# Save it as simulated.yaml. Then, in another terminal: heat2mqtt check --live --config simulated.yaml
# and: heat2mqtt run --config simulated.yaml
version: 1
provider:
  issuer: ${urls.issuer}
  api_url: ${urls.api}
  client_id: self-care
  # Where a sign-in on the login page ends. It is not needed as long as the password alone is enough.
  redirect_uri: ${redirectUri}
accounts:
  - username: ${username}
    password: ${password}
constituencies:
  base_url: ${urls.constituencies}
mqtt:
  # heat2mqtt brings its own broker. To use yours, write "url: mqtt://localhost:1883" in place of "embedded: true".
  embedded: true
  # Topics of their own, beside those of your real meters.
  base_topic: heat2mqtt-simulated
state_dir: ./state-simulated
`;
}

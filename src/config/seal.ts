// Turns the parsed file into the trusted configuration: secrets sealed, names and addresses that follow from others.
import type { Account, Config, FileConfig, HomeAssistant, Mqtt } from './schema.ts';
import type { Secret } from './secrets.ts';

/** `secrets` by path; every required one is there. `hasUrl`: somebody chose mqtt.url. */
export function seal(file: FileConfig, secrets: ReadonlyMap<string, Secret>, hasUrl: boolean): Config {
  const { accounts, mqtt, home_assistant, ...rest } = file;
  return {
    ...rest,
    accounts: accounts.map((account, n) => sealAccount(account, required(secrets, `accounts.${n}.password`))),
    mqtt: sealMqtt(mqtt, secrets, hasUrl),
    ...(home_assistant && {
      home_assistant: sealHomeAssistant(home_assistant, required(secrets, 'home_assistant.token')),
    }),
  };
}

function required(secrets: ReadonlyMap<string, Secret>, path: string): Secret {
  const secret = secrets.get(path);
  if (secret === undefined) throw new Error(`no source was found for ${path}, and no fault was told`);
  return secret;
}

function sealAccount(account: FileConfig['accounts'][number], secret: Secret): Account {
  const { password, password_file, id = 'home', ...rest } = account;
  return { id, ...rest, password: secret };
}

function sealMqtt(mqtt: FileConfig['mqtt'], secrets: ReadonlyMap<string, Secret>, hasUrl: boolean): Mqtt {
  const { password, password_file, key_password, key_password_file, ...rest } = mqtt;
  const given = secrets.get('mqtt.password');
  const givenForKey = secrets.get('mqtt.key_password');
  return {
    ...rest,
    url: hasUrl ? rest.url : ownUrl(rest),
    ...(given && { password: given }),
    ...(givenForKey && { key_password: givenForKey }),
  };
}

function ownUrl({ url, embedded }: Pick<Mqtt, 'url' | 'embedded'>): string {
  if (embedded === false || embedded.port === 0) return url;
  const everywhere = ['0.0.0.0', '::'].includes(embedded.host);
  const host = everywhere ? 'localhost' : embedded.host;
  return `mqtt://${host.includes(':') ? `[${host}]` : host}:${embedded.port}`;
}

function sealHomeAssistant(
  given: Exclude<FileConfig['home_assistant'], false | undefined>,
  secret: Secret,
): HomeAssistant {
  const { token, token_file, ...rest } = given;
  return { ...rest, token: secret };
}

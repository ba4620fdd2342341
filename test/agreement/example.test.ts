// config.example.yaml is the schema's (`vitest -u` writes it anew), it loads, and so does all that is commented out.
import { readFile as readText } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { exampleConfig } from '../../scripts/docs/example.ts';
import { allKeys, mappingOf, settableKeys } from '../../src/config/keys.ts';
import { load } from '../config/loading.ts';
import { LOCALHOST } from '../support/certificate.ts';

const COMMITTED = new URL('../../config.example.yaml', import.meta.url);

describe('config.example.yaml', () => {
  it('is what the schema says', async () => {
    await expect(exampleConfig()).toMatchFileSnapshot('../../config.example.yaml');
  });

  it('loads with a password, and changes no default', async () => {
    const { config, origins } = await load(await readText(COMMITTED, 'utf8'), {
      HEAT2MQTT_PASSWORD: 'secret',
    });
    expect([...origins].filter(([, origin]) => origin === 'file').map(([path]) => path)).toEqual([
      'version',
      'provider.issuer',
      'provider.api_url',
      'provider.client_id',
      'accounts.0.username',
      'mqtt.url',
    ]);
    expect(config.mqtt.url).toBe('mqtt://localhost:1883');
  });

  it('loads with everything uncommented that can be there at once', async () => {
    const names = new Set(allKeys().map(({ path }) => path.at(-1)));
    const uncommented = (await readText(COMMITTED, 'utf8'))
      .split('\n')
      .map((line) => bare(line, names))
      .filter((line) => !/^\s*#/.test(line) && !/^\s*(password|key_password|totp_secret|token):/.test(line))
      .join('\n')
      // Not beside home_assistant: test/config/secrets.test.ts has it.
      .replace(/^fleet:\n( +.*\n)+/m, '');
    const readFile = async (path: string) => {
      if (path.endsWith('ca.pem')) return LOCALHOST.cert;
      return path.includes('totp') ? 'HEAT2MQTTEXAMPLE' : 'from a file';
    };
    const { origins } = await load(uncommented, {}, { readFile });
    const secret = /(^|_)(password|secret|token)$/;
    const leaves = settableKeys().filter(
      ({ schema, path }) =>
        mappingOf(schema) === undefined && path[0] !== 'fleet' && !secret.test(path.at(-1) ?? ''),
    );
    const expected = leaves.map(({ path }) =>
      path.join('.').replace('<n>', '0').replace('<meter>', '70418235'),
    );
    // A secret has one key, wherever it comes from.
    const isGiven = (path: string) => [path, path.replace(/_file$/, '')].some((key) => origins.has(key));
    expect(expected.filter((path) => !isGiven(path))).toEqual([]);
  });
});

// `#   # house_no: 34` is `  house_no: 34` when its section is uncommented as well.
function bare(line: string, names: ReadonlySet<string | undefined>): string {
  const text = line.replace(/^(\s*)# /, '$1').replace(/^(\s*)# /, '$1');
  const name = /^\s*(?:- )?([a-z0-9_]+):(?: .*)?$/.exec(text)?.[1];
  return name !== undefined && names.has(name) ? text : line;
}

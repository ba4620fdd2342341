// Renders docs/configuration.md from the schema: every key, what it may be, its default and its variable.
import { settable } from '../../src/config/environment.ts';
import { allowedWords, flat, type Key, keysOf, variableOf } from '../../src/config/shape.ts';

export function configReference(): string {
  const sections = keysOf().filter(({ keys }) => keys.length > 0);
  const single = keysOf().filter(({ keys }) => keys.length === 0);
  return `${[INTRODUCTION, table('Top level', '', single), ...sections.map(sectionTable)].join('\n\n')}\n`;
}

const INTRODUCTION = `<!-- Generated from src/config/schema.ts; a test compares. Do not edit. -->
# Configuration

The file is YAML. It is looked for in this order: \`--config\`, \`$HEAT2MQTT_CONFIG\`, \`./config.yaml\`,
\`/data/config.yaml\`, \`/etc/heat2mqtt/config.yaml\`. No file at all is fine when the environment says enough.
Relative paths start at the working directory. \`heat2mqtt config example\` prints a commented example,
\`heat2mqtt config schema\` a JSON Schema for editors, \`heat2mqtt config show\` what is in force and where it comes from.

**Environment.** Each key has a variable; it wins over the file, and an empty variable counts as not set. Lists are
split at commas and blanks. \`<N>\` counts accounts from 0; a single account may also use \`HEAT2MQTT_USERNAME\`,
\`HEAT2MQTT_PASSWORD\` and \`HEAT2MQTT_PASSWORD_FILE\`. An unknown \`HEAT2MQTT_\` variable is a mistake, except for those
that Kubernetes and Docker make up for a service of that name. An option of the Home Assistant app is such a variable
in lower case without \`HEAT2MQTT_\`; the environment wins over it.

**Secrets.** Each can be given inline, as the path of a file (\`…_file\`, \`…_FILE\`), or as a file in
\`$CREDENTIALS_DIRECTORY\` (systemd): \`password\` (one account), \`<account id>_password\`, \`accounts_<n>_password\`,
\`mqtt_password\`, \`mqtt_key_password\`, \`home_assistant_token\`; case does not matter, \`.\` and \`-\` count as \`_\`, and
\`heat2mqtt_\` may stand in front. Inline and file at once is a mistake. In the environment one of the pair replaces
both of the file. One newline at the end is ignored, nothing else: any character works, and nothing is expanded. A
changed file counts without a restart. A user name and password in \`mqtt.url\` are fine too.

**Mistakes.** All are told together, one line each, and nothing is started (exit code 3).`;

function sectionTable(key: Key): string {
  const text = [key.shape.description ?? '', switchWords(key)].join('');
  return table(`\`${key.path.join('.')}\``, text, flat(key.keys));
}

// `http` and `mqtt.embedded` are sections that can be switched as a whole.
function switchWords({ shape, path }: Key): string {
  return shape.anyOf === undefined ? '' : ` As a whole: ${allowedWords(shape)} (\`${variableOf(path)}\`).`;
}

function table(title: string, text: string, keys: readonly Key[]): string {
  const rows = keys.map((key) => row(cells(key)));
  const head = [row(['Key', 'Allowed', 'Default', 'Variable', 'Meaning']), row(Array(5).fill('---'))];
  return [`## ${title}`, ...(text === '' ? [] : [text]), [...head, ...rows].join('\n')].join('\n\n');
}

function cells(key: Key): string[] {
  const { path, shape, keys } = key;
  const isPlainSection = keys.length > 0 && shape.anyOf === undefined;
  const variable = settable().some((other) => other.path.join('.') === path.join('.'));
  return [
    `\`${path.join('.')}\``,
    isPlainSection ? 'a section' : plain(allowedWords(shape)),
    isPlainSection ? '' : defaultWords(key),
    variable ? `\`${variableOf(path)}\`` : '',
    plain(shape.description ?? ''),
  ];
}

function defaultWords({ shape, required }: Key): string {
  if (required) return '**required**';
  if (shape.default === undefined) return '';
  return `\`${Array.isArray(shape.default) ? shape.default.join(', ') : JSON.stringify(shape.default)}\``;
}

// Outside of code, Markdown would take these for markup.
function plain(text: string): string {
  return text.replace(/[<*|]/g, (sign) => (sign === '<' ? '&lt;' : `\\${sign}`));
}

function row(columns: readonly string[]): string {
  return `| ${columns.join(' | ')} |`;
}

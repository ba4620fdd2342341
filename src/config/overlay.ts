// Lays the environment over the file, and keeps track of where each value comes from.
import { detachCredentials } from './brokerCredentials.ts';
import type { Environment, Setting } from './environment.ts';
import type { Faults, Origins } from './faults.ts';
import { shapeAt } from './shape.ts';
import { isTree, leaves, type Path, put, remove, type Tree, valueAt } from './tree.ts';

const BROKER_URL: Path = ['mqtt', 'url'];

/** Readies the tree of the file, changing it: empty sections become {}, the broker's credentials leave its address. */
export function settleFile(tree: Tree, settings: readonly Setting[], faults: Faults): Origins {
  for (const [path, value] of leaves(tree)) {
    if (value === null && isSection(path)) put(tree, path, path[0] === 'accounts' ? [] : {});
  }
  refusePairs(tree, faults);
  const urlIsReplaced = settings.some(({ path }) => same(path, BROKER_URL));
  const detached = urlIsReplaced ? undefined : detachCredentials(valueAt(tree, BROKER_URL));
  if (detached !== undefined) {
    const { url, ...credentials } = detached;
    put(tree, BROKER_URL, url);
    for (const [name, value] of Object.entries(credentials)) {
      if (value === undefined) continue;
      const other = [name, `${name}_file`].find((given) => valueAt(tree, ['mqtt', given]) !== undefined);
      if (other !== undefined)
        faults.add(`mqtt.${name}`, `both a ${name} in mqtt.url and mqtt.${other}`, 'one of them');
      put(tree, ['mqtt', name], value);
    }
  }
  return new Map(leaves(tree).map(([path]) => [path.join('.'), 'file']));
}

/** Changes the tree and its origins. */
export function applySettings(
  tree: Tree,
  settings: readonly Setting[],
  origins: Origins,
  faults: Faults,
): void {
  const fromEnvironment = (path: Path) => origins.get(path.join('.'))?.startsWith('environment') === true;
  for (const { path, value, variable } of settings.flatMap((setting) =>
    detached(setting, settings, faults),
  )) {
    const section = path.slice(0, -1);
    const current = valueAt(tree, section);
    // `HEAT2MQTT_HTTP=false` beats HEAT2MQTT_HTTP_LISTEN; `http: false` in the file does not.
    if (typeof current === 'boolean' && fromEnvironment(section) && !current) continue;
    if (typeof current === 'boolean') put(tree, section, {});
    // Switching on keeps the details of the file.
    if (value === true && isTree(valueAt(tree, path))) continue;
    const twin = twinOf(path);
    if (twin !== undefined && !fromEnvironment(twin)) {
      remove(tree, twin);
      origins.delete(twin.join('.'));
    }
    put(tree, path, value);
    origins.set(path.join('.'), `environment ${variable}`);
  }
}

/** The state directory systemd made for us counts when nobody named another one. */
export function applyStateDirectory(tree: Tree, env: Environment, origins: Origins): void {
  const first = env.STATE_DIRECTORY?.split(':')[0];
  if (first === undefined || first === '' || Object.hasOwn(tree, 'state_dir')) return;
  put(tree, ['state_dir'], first);
  origins.set('state_dir', 'environment STATE_DIRECTORY');
}

/** Within a Home Assistant app the Supervisor is the way in, when nobody named another one. */
export function applySupervisor(tree: Tree, env: Environment, origins: Origins): void {
  const token = env.SUPERVISOR_TOKEN;
  if (token === undefined || token === '' || Object.hasOwn(tree, 'home_assistant')) return;
  put(tree, ['home_assistant'], { url: 'ws://supervisor/core/websocket', token });
  for (const name of ['url', 'token']) origins.set(`home_assistant.${name}`, 'environment SUPERVISOR_TOKEN');
}

/** For `password` its `password_file` and the other way round; undefined for what is no secret. */
export function twinOf(path: Path): Path | undefined {
  const name = path.at(-1) ?? '';
  const twin = name.endsWith('_file') ? name.slice(0, -'_file'.length) : `${name}_file`;
  const inline = name.endsWith('_file') ? twin : name;
  const section = path.slice(0, -1);
  const isSecret = shapeAt([...section, inline])?.private === true && shapeAt([...section, `${inline}_file`]);
  return isSecret ? [...section, twin] : undefined;
}

function isSection(path: Path): boolean {
  const shape = shapeAt(path);
  return shape?.properties !== undefined || shape?.items?.properties !== undefined;
}

function refusePairs(tree: Tree, faults: Faults): void {
  for (const [path] of leaves(tree)) {
    const name = path.at(-1) ?? '';
    const twin = name.endsWith('_file') ? twinOf(path) : undefined;
    if (twin === undefined || valueAt(tree, twin) === undefined) continue;
    faults.add(twin.join('.'), `both ${twin.at(-1)} and ${name}`, 'one of them');
  }
}

function detached(setting: Setting, all: readonly Setting[], faults: Faults): Setting[] {
  const found = same(setting.path, BROKER_URL) ? detachCredentials(setting.value) : undefined;
  if (found === undefined) return [setting];
  const { url, ...credentials } = found;
  const pieces = Object.entries(credentials).filter(([, value]) => value !== undefined);
  for (const [name] of pieces) {
    const other = all.find(
      ({ path }) => path[0] === 'mqtt' && [name, `${name}_file`].includes(path[1] ?? ''),
    );
    if (other === undefined) continue;
    faults.add(`mqtt.${name}`, `both a ${name} in ${setting.variable} and ${other.variable}`, 'one of them');
  }
  const { variable } = setting;
  return [
    { path: BROKER_URL, value: url, variable },
    ...pieces.map(([name, value]) => ({ path: ['mqtt', name], value, variable })),
  ];
}

function same(a: Path, b: Path): boolean {
  return a.join('.') === b.join('.');
}

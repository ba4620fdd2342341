// Builds the image once for all tests here, and takes it away when they are done.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** HEAT2MQTT_IMAGE: a folder that test/image/build.sh has filled before. */
export function setup(): (() => void) | undefined {
  if (process.env.HEAT2MQTT_IMAGE) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'heat2mqtt-image-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.env.HEAT2MQTT_IMAGE = folder;
  try {
    execFileSync('bash', [join(import.meta.dirname, 'build.sh'), folder], { stdio: 'inherit' });
  } catch (err) {
    remove();
    throw err;
  }
  return remove;
}

// The Node that runs the program: a fleet needs a newer one than the oldest that the tests run on.
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const isNewEnough = major > 22 || (major === 22 && minor >= 12);
const { XDG_CACHE_HOME = join(homedir(), '.cache') } = process.env;
/** scripts/fleet-parts.sh puts it there. */
const fetched = join(XDG_CACHE_HOME, 'heat2mqtt-node/24/node_modules/.bin/node');

export const NODE = isNewEnough ? process.execPath : fetched;
if (!existsSync(NODE)) throw new Error(`a fleet needs Node 22.12 or newer: run scripts/fleet-parts.sh`);

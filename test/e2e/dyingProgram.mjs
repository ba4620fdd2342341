// Loaded before the program (`--import`): counts what the program does to its files and to the servers on DIE_PORTS, before and after each
// step, and ends it by SIGKILL at the count DIE_AT.
import fs from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { Socket } from 'node:net';

const { DIE_AT = '0', DIE_PORTS = '' } = process.env;
let count = 0;

function point(when, step) {
  count += 1;
  if (count !== Number(DIE_AT)) return;
  fs.writeSync(2, `died ${when} ${step}\n`);
  process.kill(process.pid, 'SIGKILL');
}

const files = createRequire(import.meta.url)('node:fs/promises');
for (const name of ['open', 'rename', 'rm', 'mkdir']) {
  const original = files[name];
  files[name] = async (path, ...rest) => {
    // Reading changes nothing.
    if (name === 'open' && rest[0] !== 'wx') return original(path, ...rest);
    point('before', `${name} ${path}`);
    const result = await original(path, ...rest);
    point('after', `${name} ${path}`);
    return result;
  };
}
syncBuiltinESMExports();

for (const name of ['_write', '_writev']) {
  const original = Socket.prototype[name];
  Socket.prototype[name] = function (...parts) {
    const isCounted = DIE_PORTS.split(' ').includes(String(this.remotePort));
    if (isCounted) point('before', `a message to port ${this.remotePort}`);
    original.apply(this, parts);
    if (isCounted) point('after', `a message to port ${this.remotePort}`);
  };
}

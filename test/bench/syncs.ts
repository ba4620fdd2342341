// Loaded into a program before its own code: counts what it syncs to the disk, and the bytes of the files that it writes, into a file.

import { writeFileSync } from 'node:fs';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

const counts = { syncs: 0, bytes: 0 };
const { open } = files;
files.open = async (...given) => {
  const handle = await open(...given);
  const sync = handle.sync.bind(handle);
  handle.sync = async () => {
    counts.syncs += 1;
    // A folder is synced too.
    const { size } = await handle.stat();
    if (given[1] === 'wx') counts.bytes += size;
    const file = process.env.BENCH_SYNCS_FILE;
    if (file !== undefined) writeFileSync(file, JSON.stringify(counts));
    return sync();
  };
  return handle;
};
syncBuiltinESMExports();

// The file of a backup as others see it: gzipped JSON, all at once.
import { gunzipSync, gzipSync } from 'node:zlib';
import type { BackupHead } from '../../src/store/backup.ts';

interface WholeBackup extends BackupHead {
  readonly documents: Readonly<Record<string, unknown>>;
}

/** As heat2mqtt 0.1.0 has written it, in one line. */
export const packed = (backup: WholeBackup): Buffer =>
  gzipSync(JSON.stringify({ heat2mqtt_backup: 1, ...backup }));

export function unpacked(bytes: Buffer): WholeBackup {
  const { heat2mqtt_backup: _, ...backup } = JSON.parse(gunzipSync(bytes).toString('utf8'));
  return backup;
}

export async function collected<T>(passing: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of passing) items.push(item);
  return items;
}

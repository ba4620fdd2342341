// A state directory that others may write to: what heat2mqtt would do for them with what they put there.
import { stat } from 'node:fs/promises';

/**
 * The dangers of an existing state directory, in words for log and health. `uid`: the user of this process;
 * undefined where there are no users.
 */
export async function directoryNotices(path: string, uid: number | undefined) {
  const entry = await stat(path).catch(() => null);
  if (entry === null || uid === undefined) return [];
  const whoWrites = 'Who writes there can make heat2mqtt send the password elsewhere.';
  const foreign = entry.uid !== uid && {
    code: 'state_dir_foreign',
    message: `The state directory ${path} belongs to another user (${entry.uid}). ${whoWrites}`,
    hint: `Give it to the user of heat2mqtt: chown -R ${uid} ${path}`,
  };
  const open = (entry.mode & WRITABLE_BY_OTHERS) !== 0 && {
    code: 'state_dir_open',
    message: `Other users can write to the state directory ${path}. ${whoWrites}`,
    hint: `Take that away: chmod go-w ${path}`,
  };
  return [foreign, open].filter((notice) => notice !== false);
}

const WRITABLE_BY_OTHERS = 0o022;

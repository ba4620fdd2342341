// The shapes of the provider's replies, the newest few of each kind, kept for `heat2mqtt report`.
import type { Clock } from '../../foundation/clock.ts';
import type { Log } from '../../foundation/log.ts';
import { shapeOf } from '../../provider/reply.ts';
import type { Reply } from '../../provider/request.ts';
import { repliesCodec } from '../../store/documents.ts';
import type { StateDirectory } from '../../store/stateDirectory.ts';
import { openShare, type Share } from '../publishing/share.ts';

export interface ReplyLog {
  note(reply: Reply): void;
}

const NEWEST = 3;

/** A strange reply is kept although good ones follow; the file is written only when a new shape is seen. */
export async function openReplyLog(state: StateDirectory, clock: Clock, log: Log): Promise<ReplyLog> {
  const document = state.document('replies', repliesCodec);
  const kept = new Map(Object.entries((await document.read())?.replies ?? {}));
  const shares = new Map<string, Share>();
  return {
    note({ what, status, json, foreign }) {
      const share = shares.get(what) ?? openShare(clock);
      shares.set(what, share);
      // One of thousands that goes by unseen, and was not understood, is asked for again alone.
      if (share.restMs() > 0) return;
      const end = share.begin();
      const shape = foreign ? [`${foreign.type}, not JSON`] : shapeOf(json);
      end();
      const known = kept.get(what) ?? [];
      if (known.some((each) => each.status === status && each.shape.join() === shape.join())) return;
      kept.set(what, [{ firstSeenAt: clock.now(), status, shape }, ...known].slice(0, NEWEST));
      document
        .write({ replies: Object.fromEntries(kept) })
        .catch((err) => log.error({ err }, 'shapes of replies could not be saved'));
    },
  };
}

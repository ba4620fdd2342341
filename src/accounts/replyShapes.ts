// The shapes of the provider's replies, keys and types without values, for `heat2mqtt report`. Kept over restarts.
import { Throttle } from '../foundation/limits.ts';
import { shapeOf } from '../provider/reply.ts';
import type { Reply } from '../provider/request.ts';
import type { Replies } from '../store/documents.ts';
import type { Document } from '../store/stateStore.ts';
import type { AccountContext } from './context.ts';

const NEWEST = 3;

/** A strange reply is kept although good ones follow; the file is written only when a new shape is seen. */
export async function openReplyShapes(
  document: Pick<Document<Replies>, 'read' | 'write'>,
  { clock }: Pick<AccountContext, 'clock'>,
): Promise<(reply: Reply) => void> {
  const shapesByQuestion = new Map(Object.entries((await document.read())?.replies ?? {}));
  const throttles = new Map<string, Throttle>();
  return ({ what, status, json, foreign }) => {
    const throttle = throttles.get(what) ?? new Throttle(clock);
    throttles.set(what, throttle);
    // A reply that is passed over and was not understood will be asked for again.
    if (throttle.restMs() > 0) return;
    const end = throttle.begin();
    const shape = foreign ? [`${foreign.type}, not JSON`] : shapeOf(json);
    end();
    const shapes = shapesByQuestion.get(what) ?? [];
    if (shapes.some((each) => each.status === status && each.shape.join() === shape.join())) return;
    shapesByQuestion.set(what, [{ firstSeenAt: clock.now(), status, shape }, ...shapes].slice(0, NEWEST));
    void document.write({ replies: Object.fromEntries(shapesByQuestion) });
  };
}

// The documents of an owner as all readers of a moment get them: composed once, and each long list written once.
import { rememberLast } from '../../accounts/rememberLast.ts';
import type { Clock } from '../../foundation/clock.ts';
import type { Retained } from '../../publication/retainedDiff.ts';

/** The streams that a change wakes look within this time. After it the documents are composed anew, and their memory is free. */
const MOMENT_MS = 250;

export function sharedDocuments(compose: (owner: string) => readonly Retained[], clock: Clock) {
  const composed = new Map<string, readonly Retained[]>();
  return {
    of(owner: string): readonly Retained[] {
      const before = composed.get(owner);
      if (before !== undefined) return before;
      const documents = compose(owner).map((document) =>
        'write' in document ? { ...document, write: rememberLast(() => document.write()) } : document,
      );
      composed.set(owner, documents);
      clock.after(MOMENT_MS, () => {
        if (composed.get(owner) === documents) composed.delete(owner);
      });
      return documents;
    },
    /** Something that they are composed of has changed. */
    forget: (owner: string): void => void composed.delete(owner),
  };
}

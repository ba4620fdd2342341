// What an account of a fleet has on the broker: only what differs is published, and all of it can be withdrawn.
import * as z from 'zod';
import { versioned } from '../documents.ts';

/** What an account of a fleet has published: digests by topic, components by discovery topic, meters that were late. */
export const publishedCodec = versioned(
  z.object({
    topics: z.record(z.string(), z.string()),
    components: z.record(z.string(), z.record(z.string(), z.string())),
    late: z.array(z.string()),
  }),
);
export type Published = Readonly<ReturnType<typeof publishedCodec.decode>>;

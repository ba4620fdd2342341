// What was found beside the usage, as it is kept on disk for each account.
import * as z from 'zod';
import type { Extras } from '../domain/extras.ts';
import type { Codec, Owned } from './document.ts';
import { day, instant, versioned } from './documents.ts';

const micro = z.number().int();
const words = z.string().nullable();
const NEVER = { askedOn: null, off: false, found: null };

const extra = <T extends z.ZodType>(found: T) =>
  z.object({ askedOn: day.nullable(), off: z.boolean(), found: found.nullable() });

const invoice = z.object({
  id: z.string(),
  status: words,
  startAt: instant.nullable(),
  endAt: instant.nullable(),
  dueAt: instant.nullable(),
  total: micro.nullable(),
  open: micro.nullable(),
});
const balance = z.object({ amount: micro.nullable() });
const invoices = z.object({
  all: z.array(invoice),
  knownIds: z.array(z.string()),
  profiles: z.array(z.string()),
  fetchedAt: instant,
});

/** The owner is the one of the account's tokens: nobody is shown another user's invoices. */
export const extrasCodec: Codec<Owned<Extras>> = versioned(
  z.object({
    owner: z.string(),
    value: z.object({
      site: extra(z.object({ timezone: words, currency: words })).default(NEVER),
      balance: extra(balance).default(NEVER),
      credit: extra(balance).default(NEVER),
      invoices: extra(invoices).default(NEVER),
      registers: z.record(z.string(), extra(z.object({ energy: micro, readAt: instant }))).default({}),
    }),
  }),
);

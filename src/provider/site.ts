// What the provider's site says of itself: its time zone and its currency.
import * as z from 'zod';
import type { Site } from '../domain/extras.ts';
import { understand } from './reply.ts';
import { type Ask, UnexpectedReply } from './request.ts';

const WHAT = 'site';

const timezone = z
  .string()
  .refine((name) => {
    try {
      return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
    } catch {
      return false;
    }
  })
  .nullish()
  .catch(null);
const code = z
  .string()
  .regex(/^[A-Z]{3}$/)
  .nullish()
  .catch(null);
const site = z.object({ timezone, currency: z.object({ code }).nullish().catch(null) });

export async function readSite(ask: Ask, signal?: AbortSignal): Promise<Site> {
  const json = await ask({ method: 'GET', path: '/site', what: WHAT, signal });
  const found = understand(WHAT, site, json);
  const told = { timezone: found.timezone ?? null, currency: found.currency?.code ?? null };
  if (told.timezone === null && told.currency === null) {
    throw new UnexpectedReply(WHAT, 'a time zone or a currency', 'neither');
  }
  return told;
}

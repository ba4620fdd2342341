// Every topic of the house below the base topic, with the schema of what is said on it: the one source of types and docs/schemas.
import type * as z from 'zod';
import { accountEvent, accountInvoices, accountState } from './account.ts';
import { bridgeEvent, bridgeHealth, bridgeInfo, bridgeState } from './bridge.ts';
import { constituenciesSummary, constituencyList, type constituencyRecord } from './constituencies.ts';
import { meterEvent, meterHistory, meterState, meterUsage, type usageBucket } from './meter.ts';
import { REQUESTS } from './requests.ts';
import { RESPONSES, unknownRequest } from './responses.ts';

/** What the bridge says by itself, as JSON. */
const SAID = {
  'bridge/info': bridgeInfo,
  'bridge/health': bridgeHealth,
  'bridge/event': bridgeEvent,
  'bridge/constituencies': constituenciesSummary,
  'meter/+/state': meterState,
  'meter/+/usage/+': meterUsage,
  'meter/+/history': meterHistory,
  'meter/+/event': meterEvent,
  'account/+/state': accountState,
  'account/+/invoices': accountInvoices,
  'account/+/event': accountEvent,
  'constituencies/+/+': constituencyList,
};

export const PAYLOADS: Readonly<Record<string, z.ZodType>> = {
  'bridge/state': bridgeState,
  ...SAID,
  ...below('bridge/request', REQUESTS),
  ...below('bridge/response', RESPONSES),
  'bridge/response/+': unknownRequest,
};

/** Said now and not kept by the broker: who comes later does not hear it. */
export const PASSING = /\/(event|request\/.+|response\/.+)$/;

function below(place: string, schemas: Readonly<Record<string, z.ZodType>>): Record<string, z.ZodType> {
  return Object.fromEntries(Object.entries(schemas).map(([what, schema]) => [`${place}/${what}`, schema]));
}

/** Nobody changes what is to be said. */
type Fixed<T> = T extends object ? { readonly [K in keyof T]: Fixed<T[K]> } : T;
/** `say` adds the schema number. */
type Unnumbered<T> = T extends unknown ? Omit<T, 'schema'> : never;

/** Instants are ISO 8601 with offset, days `YYYY-MM-DD`; `null` = not known. */
export type PayloadByTopic = { [T in keyof typeof SAID]: Fixed<Unnumbered<z.infer<(typeof SAID)[T]>>> };
export type UsageBucket = Fixed<z.infer<typeof usageBucket>>;
export type ConstituencyRecord = Fixed<z.infer<typeof constituencyRecord>>;

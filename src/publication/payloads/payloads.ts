// Every topic below the base topic, with the schema of its payload: types, docs/schemas and docs/topics.md come from here.
import type * as z from 'zod';
import { accountEvent, accountInvoices, accountState } from './accountPayloads.ts';
import { bridgeEvent, bridgeHealth, bridgeInfo, bridgeState, processState } from './bridgePayloads.ts';
import { constituenciesSummary, constituencyList, type constituencyRecord } from './constituencyPayloads.ts';
import { meterEvent, meterHistory, meterState, meterUsage } from './meterPayloads.ts';
import { REQUESTS } from './requests.ts';
import { RESPONSES, unknownRequest } from './responses.ts';
import { meterStatement } from './statement.ts';

/** `isRetained` says which of them the broker keeps; the description of a schema is the documentation. */
export const TOPICS = {
  'bridge/state': bridgeState,
  'bridge/process/<number>/state': processState,
  'bridge/info': bridgeInfo,
  'bridge/health': bridgeHealth,
  'bridge/event': bridgeEvent,
  'bridge/constituencies': constituenciesSummary,
  'meter/<meter>/state': meterState,
  'meter/<meter>/usage/<interval>': meterUsage,
  'meter/<meter>/history': meterHistory,
  'meter/<meter>/statement': meterStatement,
  'meter/<meter>/event': meterEvent,
  'account/<account>/state': accountState,
  'account/<account>/invoices': accountInvoices,
  'account/<account>/event': accountEvent,
  'constituencies/<chamber>/<house_no>': constituencyList,
  'bridge/request/refresh': REQUESTS.refresh,
  'bridge/request/backfill': REQUESTS.backfill,
  'bridge/request/constituencies': REQUESTS.constituencies,
  'bridge/request/health': REQUESTS.health,
  'bridge/response/refresh': RESPONSES.refresh,
  'bridge/response/backfill': RESPONSES.backfill,
  'bridge/response/constituencies': RESPONSES.constituencies,
  'bridge/response/health': RESPONSES.health,
  'bridge/response/<other>': unknownRequest,
};

export type TopicName = keyof typeof TOPICS;

/** Payloads are not changed. */
type Fixed<T> = T extends object ? { readonly [K in keyof T]: Fixed<T[K]> } : T;
/** The number of the schema is added with the topic. */
type Unnumbered<T> = T extends unknown ? Omit<T, 'schema'> : never;
type JsonTopic = Exclude<
  TopicName,
  'bridge/state' | 'bridge/process/<number>/state' | `bridge/request/${string}` | `bridge/response/${string}`
>;

/** What the bridge publishes by itself. Instants are ISO 8601 with offset, days `YYYY-MM-DD`; `null` = not known. */
export type PayloadByTopic = { [T in JsonTopic]: Fixed<Unnumbered<z.infer<(typeof TOPICS)[T]>>> };
export type ConstituencyRecord = Fixed<z.infer<typeof constituencyRecord>>;

// The provider as the rest of the house sees it.
import type { Bucket } from '../domain/reading.ts';
import { discover, type EntityContext } from './discovery.ts';
import type { Ask } from './request.ts';
import { readUsage, type UsageQuestion } from './usageReport.ts';

export interface ProviderClient {
  discover(
    identity: { readonly customerCode: string; readonly siteCodes: readonly string[] },
    signal?: AbortSignal,
  ): Promise<EntityContext>;
  usage(question: UsageQuestion): Promise<Bucket[]>;
}

export function openClient(ask: Ask): ProviderClient {
  return {
    discover: (identity, signal) => discover(ask, identity, signal),
    usage: (question) => readUsage(ask, question),
  };
}

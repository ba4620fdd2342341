// A story that asks for constituencies only: no account, no provider, a broker and the public list.

import type { Probe } from './probe.ts';
import { openStory } from './story.ts';

export const LIST = 'heat2mqtt/constituencies/dail/34';
export const REQUEST = 'heat2mqtt/bridge/request/constituencies';
export const RESPONSE = 'heat2mqtt/bridge/response/constituencies';
export const SUMMARY = 'heat2mqtt/bridge/constituencies';
export const FETCH = 'GET /v1/constituencies';

export async function openListStory(house: { readonly house_no?: number } = { house_no: 34 }) {
  const story = await openStory({ accounts: [] });
  const probe = await story.listen();
  const config = {
    provider: undefined,
    constituencies: { chamber: 'dail', ...house },
  };
  const start = () => story.start(config);
  const daemon = await start();
  await probe.until(SUMMARY);
  const { counters, switches } = story.simulator;
  return { story, daemon, start, probe, switches, fetches: () => counters.requests[FETCH] ?? 0, counters };
}

let transactions = 0;

/** Asks, and waits for the answer to this very request. */
export async function asking(
  probe: Probe,
  parameters: Readonly<Record<string, unknown>> = {},
): Promise<Record<string, unknown>> {
  transactions += 1;
  const transaction = `tx-${transactions}`;
  await probe.publish(REQUEST, JSON.stringify({ ...parameters, transaction }));
  return probe.until(RESPONSE, (answer) => answer.transaction === transaction);
}

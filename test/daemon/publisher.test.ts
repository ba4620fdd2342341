// When the bridge's own documents go out beside those of an account that takes long to compose.
import { expect, test } from 'vitest';
import { type Context, Signals } from '../../src/daemon/context.ts';
import type { BridgeStatus } from '../../src/daemon/publishing/bridgeStatus.ts';
import { Publisher } from '../../src/daemon/publishing/publisher.ts';
import type { Message } from '../../src/mqtt/message.ts';
import { Topics } from '../../src/publication/topics.ts';
import { handClock } from '../support/clock.ts';
import { ACCOUNT, bridgeView } from '../support/inventedHome.ts';
import { logLines } from '../support/logLines.ts';

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A machine on which each look at the account takes `composeMs`. */
async function opened(composeMs: number) {
  const clock = handClock('2026-03-10T12:00:00Z');
  const signals = new Signals();
  const published: Message[] = [];
  let failures = 0;
  const account = {
    id: 'home',
    told: { late: {}, use: {} },
    extras: { takeNews: () => [] },
    journal: { record: { told: { late: {}, use: {} } } },
    meterViews: () => [],
    view() {
      clock.advance(composeMs);
      return ACCOUNT;
    },
  };
  const context = {
    accounts: [account],
    clock,
    config: { mqtt: { discovery_prefix: false } },
    log: logLines().log,
    topics: new Topics('heat2mqtt'),
    zone: ACCOUNT.zone,
    signals,
    link: {
      status: () => ({ waiting: 0, hasConnected: true }),
      publish: (messages: readonly Message[]) => published.push(...messages),
    },
    state: { document: () => ({ read: async () => null, write: async () => undefined }) },
  } as unknown as Context;
  const bridgeStatus = {
    bridge: () => bridgeView(),
    health: () => ({ failures_in_a_row: failures }),
    isComplete: () => true,
  } as unknown as BridgeStatus;
  await Publisher.open(bridgeStatus, null, context);
  const failuresTold = () =>
    published
      .filter(({ topic }) => topic === 'heat2mqtt/bridge/health')
      .map(({ payload }) => JSON.parse(payload).failures_in_a_row);
  const fail = () => {
    failures += 1;
  };
  return { signals, fail, failuresTold };
}

test('tells health at once when an account took a second to compose just before', async () => {
  const { signals, fail, failuresTold } = await opened(1000);
  signals.emit('accountChanged', 'home');
  await nextTurn();
  fail();
  signals.emit('bridgeChanged');
  await nextTurn();
  expect(failuresTold()).toEqual([0, 1]);
});

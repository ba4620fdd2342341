// Connections and links under test: a real broker behind a wire that can be cut, and a clock moved by hand.
import { type Clock, systemClock } from '../../src/foundation/clock.ts';
import { startBroker } from '../../src/mqtt/broker.ts';
import type { BrokerAddress, Connection } from '../../src/mqtt/connection.ts';
import { Link, type LinkConsumers, type LinkOptions } from '../../src/mqtt/link.ts';
import type { Incoming, Message } from '../../src/mqtt/message.ts';
import { openConnection } from '../../src/mqtt/opening.ts';
import { handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';
import { startProbe } from '../support/probe.ts';
import { settled } from '../support/rest.ts';
import { openStack, type Stack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';
import { openWire } from '../support/wire.ts';

export const ONLINE: Message = { topic: 'x/state', payload: 'online', retain: true };
export const OFFLINE: Message = { ...ONLINE, payload: 'offline' };
/** The address of a broker of the test's. */
export const address = (url: string, more: Partial<BrokerAddress> = {}): BrokerAddress => ({
  url,
  versions: [4],
  clientId: 'test',
  tls: { rejectUnauthorized: true },
  ...more,
});

/** One connection with OFFLINE as its will, by default with MQTT 3.1.1. */
export const connect = (
  url: string,
  more: Partial<BrokerAddress> & {
    readonly will?: Message;
    readonly onMessage?: (incoming: Incoming) => void;
    readonly clock?: Clock;
  } = {},
): Promise<Connection> => {
  const { will = OFFLINE, onMessage = () => undefined, clock = systemClock, ...place } = more;
  return openConnection(address(url, place), clock, { will, onMessage });
};

export const state = (payload: string, topic = 'x/value'): Message => ({ topic, payload, retain: true });
export const event = (payload: string): Message => ({ topic: 'x/event', payload, retain: false });

/** A link to a broker of the test's, under a clock moved by hand. */
export function openLink(
  stack: Stack,
  url: string,
  { at, ...parts }: Partial<LinkOptions & LinkConsumers> & { at?: () => Partial<BrokerAddress> } = {},
) {
  const clock = handClock('2025-03-10T12:00:00Z');
  const { log, lines } = logLines();
  const delivered: Message[] = [];
  const heard: Incoming[] = [];
  const link = new Link({
    address: async () => address(url, at?.()),
    will: OFFLINE,
    subscriptions: [{ filter: 'x/request/+', lost: 'requests' }],
    clock,
    log,
    random: () => 0.5,
    ...parts,
  });
  link.start({
    announcement: () => [ONLINE],
    onMessage: (incoming) => void heard.push(incoming),
    onDelivered: (message) => void delivered.push(message),
    ...parts,
  });
  const stop = async (): Promise<void> => {
    const stopped = link.stop([OFFLINE], 2_000).then(() => true);
    while (!(await Promise.race([stopped, settled()]))) clock.advance(100);
  };
  stack.defer(stop);
  const pass = async (ms: number, stepMs = 500) => {
    for (let left = ms; left > 0; left -= stepMs) {
      clock.advance(stepMs);
      await settled();
    }
  };
  const isConnected = () => waitFor('the connection', () => link.status().connected);
  return { link, clock, lines, delivered, heard, stop, pass, isConnected };
}

/** A broker behind a wire, and a probe beside it that is not. */
export async function wired() {
  const stack = openStack();
  const broker = stack.use(await startBroker());
  const wire = stack.use(await openWire(broker.port));
  return { stack, broker, wire, probe: stack.use(await startProbe(broker.url)) };
}

/** A link that has connected and said what it has to say. */
export async function connected(more: Parameters<typeof openLink>[2] = {}) {
  const { wire, ...home } = await wired();
  const opened = openLink(home.stack, wire.url, more);
  await opened.isConnected();
  await waitFor('the announcement', () => home.probe.last('x/state'));
  const isLost = () => waitFor('the loss', () => !opened.link.status().connected);
  return {
    ...home,
    ...opened,
    wire,
    isLost,
    /** The wire is cut, and the link has noticed. */
    async lose(): Promise<void> {
      wire.cut();
      await isLost();
    },
  };
}

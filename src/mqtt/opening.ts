// Opens a connection to a broker: in the newest version of MQTT that it takes, with a will that it takes.
import type { Clock } from '../foundation/clock.ts';
import {
  type BrokerAddress,
  Connection,
  type ConnectOptions,
  connectOnce,
  type ProtocolVersion,
} from './connection.ts';
import { type BrokerLimits, UNLIMITED } from './limits.ts';
import { QOS_NOT_SUPPORTED, RETAIN_NOT_SUPPORTED } from './reasonCodes.ts';
import { BrokerSilent, ConnectRefused, SpeaksNoMqtt5 } from './refusals.ts';

const CLOSE_MS = 1_000;

/**
 * `spoken`: the last connection was of this version, so that silence says nothing about the version. Rejects with a Failure:
 * ConnectRefused, or one with the code `broker_unreachable`, `broker_not_trusted` or `broker_speaks_no_mqtt5`.
 */
export async function openConnection(
  address: BrokerAddress,
  clock: Clock,
  options: ConnectOptions = {},
  spoken?: ProtocolVersion,
): Promise<Connection> {
  const open = (version: ProtocolVersion, more = options) => openForLess(version, address, clock, more);
  const { versions } = address;
  if (spoken === 4 || !versions.includes(5)) return open(4);
  const first = await open(5).catch(lackOfMqtt5);
  if (first instanceof Connection) return first;
  if (first instanceof BrokerSilent) {
    if (spoken === 5) throw first;
    // One that starts is silent, too, and MQTT 3.1.1 would hide what it refuses for as long as the connection lasts.
    const trial = await open(4, {});
    await trial.close(CLOSE_MS);
    const second = await open(5).catch(lackOfMqtt5);
    if (second instanceof Connection) return second;
  }
  if (!versions.includes(4)) throw new SpeaksNoMqtt5();
  return open(4);
}

/** Rethrows what says nothing about the version. */
function lackOfMqtt5(err: unknown): BrokerSilent | SpeaksNoMqtt5 {
  if (err instanceof BrokerSilent || err instanceof SpeaksNoMqtt5) return err;
  throw err;
}

/** A will that asks for more than the broker has is offered again for less. `known`: by what it has said of the last one. */
async function openForLess(
  version: ProtocolVersion,
  address: BrokerAddress,
  clock: Clock,
  options: ConnectOptions,
  known = UNLIMITED,
): Promise<Connection> {
  try {
    return await connectOnce(version, known, address, clock, options);
  } catch (err) {
    const code = err instanceof ConnectRefused ? err.reasonCode : undefined;
    const again = (limit: Partial<BrokerLimits>) =>
      openForLess(version, address, clock, options, { ...known, ...limit });
    if (code === RETAIN_NOT_SUPPORTED && known.retainAvailable) return again({ retainAvailable: false });
    if (code === QOS_NOT_SUPPORTED && known.maximumQoS > 0) return again({ maximumQoS: 0 });
    throw err;
  }
}

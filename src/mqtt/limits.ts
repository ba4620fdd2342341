// The limits that a broker announces in its CONNACK, and what is lost by them.
import type { Failure } from '../foundation/failure.ts';
import {
  NO_SHARED_SUBSCRIPTIONS,
  NO_WILDCARDS,
  QOS_NOT_SUPPORTED,
  RETAIN_NOT_SUPPORTED,
} from './reasonCodes.ts';
import { BrokerFailure } from './refusals.ts';

/** Properties of a CONNACK of MQTT 5; one that is missing limits nothing. */
type Announced = Partial<
  Record<'receiveMaximum' | 'maximumQoS' | 'maximumPacketSize', number> &
    Record<'retainAvailable' | 'wildcardSubscriptionAvailable' | 'sharedSubscriptionAvailable', boolean>
>;

/** A broker of MQTT 3.1.1 announces none. Topic Alias Maximum is not among them: no alias is ever sent. */
export interface BrokerLimits {
  /** The most publishes with QoS 1 that may wait for its answer. */
  readonly receiveMaximum: number;
  /** 0: it acknowledges no message. */
  readonly qos: 0 | 1;
  readonly retains: boolean;
  readonly largestPacketBytes: number;
  readonly takesWildcards: boolean;
  readonly sharesSubscriptions: boolean;
}

const USUAL_RECEIVE_MAXIMUM = 65_535;

/** `refusedOfWills`: reason codes by which it has refused a CONNECT whose will asked for more. */
export function limitsOf(announced: Announced = {}, refusedOfWills: ReadonlySet<number>): BrokerLimits {
  const takesQos1 = announced.maximumQoS !== 0 && !refusedOfWills.has(QOS_NOT_SUPPORTED);
  return {
    // Zero, which no broker may announce, would let nothing out for ever.
    receiveMaximum: announced.receiveMaximum || USUAL_RECEIVE_MAXIMUM,
    qos: takesQos1 ? 1 : 0,
    retains: announced.retainAvailable !== false && !refusedOfWills.has(RETAIN_NOT_SUPPORTED),
    largestPacketBytes: announced.maximumPacketSize || Number.POSITIVE_INFINITY,
    takesWildcards: announced.wildcardSubscriptionAvailable !== false,
    sharesSubscriptions: announced.sharedSubscriptionAvailable !== false,
  };
}

/** The reason code that such a subscription would meet; `null`: it may be sent. */
export function refusedUnasked(filter: string, limits: BrokerLimits): number | null {
  if (!limits.sharesSubscriptions && filter.startsWith('$share/')) return NO_SHARED_SUBSCRIPTIONS;
  return !limits.takesWildcards && /[+#]/.test(filter) ? NO_WILDCARDS : null;
}

const RETAIN_UNAVAILABLE = new BrokerFailure(
  'retain_unavailable',
  'The broker does not retain messages (Retain Available is 0): who subscribes later hears nothing until the next change.',
  'Switch retained messages on at the broker. Until then everything is published anew with each connection, and for Home Assistant whenever that starts.',
  'never',
);
const QOS_UNAVAILABLE = new BrokerFailure(
  'qos_unavailable',
  'The broker acknowledges no messages (Maximum QoS is 0): an event that is under way while the connection breaks may be lost.',
  'Let the broker take QoS 1.',
  'never',
);

/** The person at home should know these. A limit that can be kept without a loss is not told. */
export function lossesBy({ retains, qos }: BrokerLimits): readonly Failure[] {
  return [...(retains ? [] : [RETAIN_UNAVAILABLE]), ...(qos === 0 ? [QOS_UNAVAILABLE] : [])];
}

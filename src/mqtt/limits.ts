// The limits that a broker announces in its CONNACK, and what is lost by them.
import type { Failure } from '../foundation/failure.ts';
import { NO_SHARED_SUBSCRIPTIONS, NO_WILDCARDS } from './reasonCodes.ts';
import { BrokerFailure } from './refusals.ts';

/**
 * Properties of a CONNACK of MQTT 5, by their names there; a broker of MQTT 3.1.1 announces none. Topic Alias Maximum is not among them: no
 * alias is ever sent.
 */
export interface BrokerLimits {
  /** The most publishes with QoS 1 that may wait for its answer. */
  readonly receiveMaximum: number;
  /** 0: it acknowledges no message. */
  readonly maximumQoS: number;
  readonly maximumPacketSize: number;
  readonly retainAvailable: boolean;
  readonly wildcardSubscriptionAvailable: boolean;
  readonly sharedSubscriptionAvailable: boolean;
}

export const UNLIMITED: BrokerLimits = {
  receiveMaximum: 65_535,
  maximumQoS: 1,
  maximumPacketSize: Number.POSITIVE_INFINITY,
  retainAvailable: true,
  wildcardSubscriptionAvailable: true,
  sharedSubscriptionAvailable: true,
};

/** `known`: from before, since it has refused a will that asked for more. */
export function limitsOf(announced: Partial<BrokerLimits> = {}, earlier: BrokerLimits): BrokerLimits {
  const limits = { ...UNLIMITED, ...announced };
  return {
    ...limits,
    // Zero, which MQTT 5 forbids, would let nothing out for ever.
    receiveMaximum: limits.receiveMaximum || UNLIMITED.receiveMaximum,
    maximumPacketSize: limits.maximumPacketSize || UNLIMITED.maximumPacketSize,
    maximumQoS: Math.min(limits.maximumQoS, earlier.maximumQoS),
    retainAvailable: limits.retainAvailable && earlier.retainAvailable,
  };
}

/** The reason code that such a subscription would meet; `null`: it may be sent. */
export function refusedUnasked(filter: string, limits: BrokerLimits): number | null {
  if (!limits.sharedSubscriptionAvailable && filter.startsWith('$share/')) return NO_SHARED_SUBSCRIPTIONS;
  return !limits.wildcardSubscriptionAvailable && /[+#]/.test(filter) ? NO_WILDCARDS : null;
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
export function lossesBy({ retainAvailable, maximumQoS }: BrokerLimits): readonly Failure[] {
  return [...(retainAvailable ? [] : [RETAIN_UNAVAILABLE]), ...(maximumQoS === 0 ? [QOS_UNAVAILABLE] : [])];
}

// Messages to the broker and from it, and what is subscribed to.

/** A message on its way to the broker: with QoS 1 wherever it can. */
export interface Message {
  readonly topic: string;
  /** Empty and retained: the topic is cleared. */
  readonly payload: string;
  readonly retain: boolean;
  /** Has to be delivered although a newer message of the same topic follows at once. */
  readonly step?: true;
  /** MQTT 5: returned to the requester unaltered. */
  readonly correlationData?: Buffer;
  /** Called once the broker has taken it, or refuses it for good: until then it is news, also after a restart. */
  readonly onAnswered?: () => void;
}

/** A message that came in. */
export interface Incoming {
  readonly topic: string;
  readonly payload: Buffer;
  /** Stored by the broker before we subscribed, or (MQTT 5) published with the retain flag: no request of now. */
  readonly retained: boolean;
  /** MQTT 5: where an answer is wanted. */
  readonly responseTopic: string | undefined;
  readonly correlationData: Buffer | undefined;
}

/** One filter whose messages are wanted. */
export interface Subscription {
  readonly filter: string;
  /** Continues "Lost with it:", where the broker refuses the subscription. */
  readonly lost?: string;
  /** MQTT 5: its messages keep the retain flag that they are published with. */
  readonly retainAsPublished?: true;
}

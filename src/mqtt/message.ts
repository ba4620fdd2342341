// A message on its way to the broker. Always QoS 1.

export interface Message {
  readonly topic: string;
  /** Empty and retained: the topic is withdrawn. */
  readonly payload: string;
  readonly retain: boolean;
  /** Has to be seen although a newer message of the same topic follows at once. */
  readonly step?: true;
  /** MQTT 5: returned to whoever asked, unaltered. */
  readonly correlationData?: Buffer;
}

/** A message that came in. */
export interface Incoming {
  readonly topic: string;
  readonly payload: Buffer;
  /** Stored by the broker before we subscribed, so nobody asks for it now. */
  readonly retained: boolean;
  /** MQTT 5: where an answer is wanted. */
  readonly responseTopic: string | undefined;
  readonly correlationData: Buffer | undefined;
}

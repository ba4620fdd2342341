// The way in from Home Assistant's own pages (ingress): a port of its own, on which only the Supervisor is answered.
import type { RequestListener } from 'node:http';
import type { Clock } from '../../foundation/clock.ts';
import { type Listening, openServer } from '../../web/server.ts';

export interface Ingress {
  /** `host:port`, as `ingress_port` of app/config.yaml. */
  readonly listen: string;
  /** The Supervisor, who has asked whom he lets in. */
  readonly from: string;
}

export const SUPERVISORS_INGRESS: Ingress = { listen: '0.0.0.0:8098', from: '172.30.32.2' };

/** Rejects with listen_failed. */
export const serveIngress = (
  { listen, from }: Ingress,
  answer: RequestListener,
  clock: Clock,
): Promise<Listening> =>
  openServer(listen, answer, { clock, admits: (address) => address === from, isShared: () => true });

// The way in from Home Assistant's own pages (ingress): a port of its own, on which only the Supervisor is answered.
import { createServer, type RequestListener } from 'node:http';
import { type Listening, listening } from './listening.ts';

export interface Ingress {
  /** `host:port`, as `ingress_port` of app/config.yaml. */
  readonly listen: string;
  /** The Supervisor, who has asked whom he lets in. */
  readonly from: string;
}

export const SUPERVISORS_INGRESS: Ingress = { listen: '0.0.0.0:8098', from: '172.30.32.2' };

/** Rejects with ListenFailed. */
export function serveIngress({ listen, from }: Ingress, answer: RequestListener): Promise<Listening> {
  const server = createServer(answer);
  server.on('connection', (socket) => {
    if (socket.remoteAddress?.replace(/^::ffff:/, '') !== from) socket.destroy();
  });
  return listening(server, listen);
}

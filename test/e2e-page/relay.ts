// Stands between the page and the program, and tells more on the stream than happens: what was told, with changes.

import { createServer, request, type ServerResponse } from 'node:http';
import { listening } from '../support/listening.ts';

type Payload = Readonly<Record<string, unknown>>;

/** `to`: the address of the program. */
export async function startRelay(to: string) {
  const streams = new Set<ServerResponse>();
  const documents = new Map<string, Payload>();
  const server = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, host: new URL(to).host, 'accept-encoding': 'identity' };
    if (headers.origin) headers.origin = new URL(to).origin;
    const onward = request(
      new URL(incoming.url ?? '/', to),
      { method: incoming.method, headers },
      (reply) => {
        outgoing.writeHead(reply.statusCode ?? 500, reply.headers);
        reply.pipe(outgoing);
        if (incoming.url !== '/events') return;
        streams.add(outgoing);
        let text = '';
        reply.on('data', (bytes) => {
          text += bytes;
          const lines = text.split('\n');
          text = lines.pop() ?? '';
          for (const line of lines.filter((one) => one.startsWith('data: {"topic"'))) {
            const { topic, payload } = JSON.parse(line.slice(6));
            documents.set(topic, payload);
          }
        });
      },
    );
    onward.on('error', () => outgoing.destroy());
    outgoing.on('close', () => onward.destroy());
    incoming.pipe(onward);
  });
  const port = await listening(server);
  return {
    url: `http://127.0.0.1:${port}/`,
    /** The document of the topic once more, changed. */
    tell(topic: string, change: (payload: Payload) => Payload): void {
      const payload = change(documents.get(topic) ?? {});
      for (const stream of streams)
        stream.write(`event: message\ndata: ${JSON.stringify({ topic, payload })}\n\n`);
    },
    async stop(): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

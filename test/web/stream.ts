// A reader of the page's events, as a browser's EventSource is one.
import { get, type IncomingHttpHeaders } from 'node:http';
import { waitFor } from '../support/waitFor.ts';

export interface PageEvent {
  readonly event: string;
  readonly data: unknown;
}

/** `settle` is awaited before each look at what has come. */
export async function openStream(
  address: string,
  headers: IncomingHttpHeaders = {},
  settle: () => Promise<void> = async () => {},
) {
  const events: PageEvent[] = [];
  let rest = '';
  let isOver = false;
  const request = get(`${address}/events`, { headers, agent: false });
  const response = await new Promise<import('node:http').IncomingMessage>((resolve, reject) =>
    request.on('response', resolve).on('error', reject),
  );
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    const blocks = (rest + chunk).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map((line) => line.split(/: (.*)/s) as [string, string]));
      const data = fields.get('data');
      if (data !== undefined)
        events.push({ event: fields.get('event') ?? 'message', data: JSON.parse(data) });
    }
  });
  response.on('close', () => {
    isOver = true;
  });
  response.on('error', () => undefined);
  const messages = () =>
    events
      .filter(({ event }) => event === 'message')
      .map(({ data }) => data as { topic: string; payload: unknown });
  const look = async <T>(isThere: () => T): Promise<T> => {
    await settle();
    return isThere();
  };
  return {
    status: response.statusCode,
    headers: response.headers,
    events,
    messages,
    /** The last payload on the topic. */
    last: (topic: string) => messages().findLast((one) => one.topic === topic)?.payload,
    until: (what: string, isThere: () => unknown) =>
      waitFor(what, () => look(isThere), { diagnose: () => events.slice(-3) }),
    ready: () => waitFor('ready', () => look(() => events.some(({ event }) => event === 'ready'))),
    get isOver() {
      return isOver;
    },
    pause: () => void response.pause(),
    stop: () => void request.destroy(),
  };
}

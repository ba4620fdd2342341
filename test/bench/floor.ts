// The floor: the least that a program with mqtt.js and fetch can be that asks the same and says the same. No checks, no files but one.
import { readFileSync } from 'node:fs';
import { connectAsync } from 'mqtt';

interface Task {
  readonly broker: string;
  readonly api: string;
  /** One request for each, at most `concurrency` at a time; `token` in place of a session. */
  readonly requests: readonly { token: string; body: string; messages: Message[] }[];
  readonly concurrency: number;
  /** Said at the start. */
  readonly messages: readonly Message[];
}
type Message = readonly [topic: string, payload: string];

const task: Task = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'));
const client = await connectAsync(task.broker, { protocolVersion: 5 });
const say = (messages: readonly Message[]) =>
  Promise.all(
    messages.map(([topic, payload]) => client.publishAsync(topic, payload, { qos: 1, retain: true })),
  );

async function poll(): Promise<void> {
  const queue = [...task.requests];
  const worker = async () => {
    for (let next = queue.pop(); next; next = queue.pop()) {
      const response = await fetch(`${task.api}/reports/usage`, {
        method: 'POST',
        headers: { authorization: `Bearer ${next.token}`, 'content-type': 'application/json' },
        body: next.body,
      });
      const reply = (await response.json()) as { aggregations?: unknown };
      if (reply.aggregations === undefined) throw new Error('no reading');
      await say(next.messages);
    }
  };
  await Promise.all(Array.from({ length: task.concurrency }, worker));
}

await say(task.messages);
await poll();
process.stdout.write('done\n');
process.on('SIGUSR2', () => void poll().then(() => process.stdout.write('done\n')));

// What a recording listens to and keeps: the newest payload of each topic, and a fixture's folder with what the broker has retained.
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectAsync } from 'mqtt';
import { folderOf, type PORTS, RECORDED, type Recording } from '../support/recorded.ts';
import { turn, waitFor } from '../support/waitFor.ts';

/** It checks no schema: those of an earlier version are its own. */
export async function hear(url: string) {
  const newest = new Map<string, string>();
  const retained = new Map<string, string>();
  const client = await connectAsync(url);
  client.on('message', (topic, payload, { retain }) => {
    newest.set(topic, String(payload));
    if (retain) retained.set(topic, String(payload));
  });
  await client.subscribeAsync('#', { qos: 1 });
  return {
    newest: newest as ReadonlyMap<string, string>,
    json: (topic: string): Record<string, unknown> => JSON.parse(newest.get(topic) || '{}'),
    /** Those that were there before it listened. */
    retained: retained as ReadonlyMap<string, string>,
    forget: () => newest.clear(),
    publish: (topic: string, payload: string) => client.publishAsync(topic, payload, { qos: 1 }),
    until: (topic: string, pleases: (payload: string) => boolean = () => true) =>
      waitFor(`${topic}`, () => pleases(newest.get(topic) ?? '') && newest.has(topic), {
        diagnose: () => [newest.get(topic), ...newest.keys()],
      }),
    stop: () => client.endAsync(true),
  };
}

const UNTIL_ALL_ARE_HEARD_MS = 2_000;

/** Empties the fixture's folder, and keeps what the broker has. Resolves to its path. */
export async function keep(what: keyof typeof PORTS, keptAt: number, brokerUrl: string): Promise<string> {
  const folder = folderOf(what);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const recording: Recording = { commit: RECORDED, keptAt: new Date(keptAt).toISOString() };
  await writeFile(join(folder, 'recording.json'), `${JSON.stringify(recording, null, 1)}\n`);
  const ear = await hear(brokerUrl);
  await turn(UNTIL_ALL_ARE_HEARD_MS);
  await ear.stop();
  const lines = [...ear.retained].sort().map(([topic, payload]) => JSON.stringify({ topic, payload }));
  await writeFile(join(folder, 'retained.jsonl'), `${lines.join('\n')}\n`);
  return folder;
}

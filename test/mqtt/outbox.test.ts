// The outbox: newest of each retained topic, every event while it lasts, and the order of both.
import { expect, test } from 'vitest';
import { openOutbox } from '../../src/mqtt/link.ts';
import type { Message } from '../../src/mqtt/message.ts';

const state = (topic: string, payload: string): Message => ({ topic, payload, retain: true });
const event = (topic: string, payload: string): Message => ({ topic, payload, retain: false });
const step = (topic: string, payload: string): Message => ({ topic, payload, retain: true, step: true });

function taken(outbox: ReturnType<typeof openOutbox>): string[] {
  const all: string[] = [];
  for (let next = outbox.take(); next; next = outbox.take()) all.push(`${next.topic}=${next.payload}`);
  return all;
}

function filled(...messages: Message[]) {
  const outbox = openOutbox();
  for (const message of messages) outbox.put(message);
  return outbox;
}

test('a newer state replaces the one that waits, and takes its turn behind the others', () => {
  expect(taken(filled(state('a', '1'), state('b', '1'), state('a', '2')))).toEqual(['b=1', 'a=2']);
});

test('events are not merged', () => {
  expect(taken(filled(event('e', '1'), event('e', '2'), event('e', '2')))).toEqual(['e=1', 'e=2', 'e=2']);
});

test('a state does not push out an event of its topic, nor the other way round', () => {
  expect(taken(filled(event('a', 'event'), state('a', 'state'), event('a', 'again')))).toHaveLength(3);
});

test('a step is seen although the whole follows at once', () => {
  const outbox = filled(
    step('doc', 'reduced'),
    state('doc', 'whole'),
    step('doc', 'less'),
    state('doc', 'rest'),
  );
  expect(taken(outbox)).toEqual(['doc=less', 'doc=rest']);
});

test('what is under way counts until the broker has it', () => {
  const outbox = filled(state('a', '1'), state('b', '1'));
  const first = outbox.take();
  expect(outbox.size()).toBe(2);
  if (first) outbox.done(first);
  expect(outbox.size()).toBe(1);
});

test('what was not acknowledged waits again, but never in place of something newer', () => {
  const outbox = filled(state('a', 'old'), state('b', '1'));
  outbox.take();
  outbox.take();
  outbox.put(state('a', 'new'));
  outbox.rewind();
  expect(taken(outbox)).toEqual(['b=1', 'a=new']);
});

test('of events that were under way only the newest of a topic goes out again', () => {
  const outbox = filled(event('e', '1'), event('e', '2'), event('f', '1'));
  outbox.take();
  outbox.rewind();
  expect(taken(outbox)).toEqual(['e=2', 'f=1']);
});

test('the announcement leads, in its order, and replaces what it repeats', () => {
  const outbox = filled(state('b', 'old'), event('e', '1'), state('c', '1'));
  outbox.lead([state('a', 'live'), state('b', 'live')]);
  expect(taken(outbox)).toEqual(['a=live', 'b=live', 'e=1', 'c=1']);
});

test('events cannot fill the memory: the oldest go first; a flood drowns neither states nor events of other topics', () => {
  const outbox = filled(state('a', '1'), event('day', 'new'));
  for (let count = 0; count < 800; count += 1) outbox.put(event('e', String(count)));
  const all = taken(outbox);
  expect(all).toHaveLength(501);
  expect([...all.slice(0, 3), all.at(-1)]).toEqual(['a=1', 'day=new', 'e=301', 'e=799']);
});

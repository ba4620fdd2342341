// The outbox: newest of each retained topic, every event while it lasts, and the order of both.
import { expect, test } from 'vitest';
import type { Message } from '../../src/mqtt/message.ts';
import { Outbox } from '../../src/mqtt/outbox.ts';

/** `e…` is an event; `doc!` a step of the topic `doc`. */
function message(text: string): Message {
  const [name = '', payload = ''] = text.split('=');
  const topic = name.replace('!', '');
  return { topic, payload, retain: !name.startsWith('e'), ...(topic === name ? {} : { step: true }) };
}

function openFilled(...texts: string[]) {
  const outbox = new Outbox();
  for (const text of texts) outbox.put(message(text));
  const take = (most = Number.POSITIVE_INFINITY): string[] => {
    const all: string[] = [];
    for (let next = outbox.take(); next; next = all.length < most ? outbox.take() : undefined)
      all.push(`${next.topic}=${next.payload}`);
    return all;
  };
  return { outbox, take };
}

test.each<[string, string[], string[]]>([
  ['a newer state replaces one that waits, behind the others', ['a=1', 'b=1', 'a=2'], ['b=1', 'a=2']],
  ['events are not merged', ['e=1', 'e=2', 'e=2'], ['e=1', 'e=2', 'e=2']],
  ['a step is seen beside the whole', ['doc!=1', 'doc=2', 'doc!=3', 'doc=4'], ['doc=3', 'doc=4']],
])('%s', (_, put, taken) => {
  expect(openFilled(...put).take()).toEqual(taken);
});

test('keeps both when a state and an event have the same topic', () => {
  const { outbox, take } = openFilled('e=event');
  outbox.put({ ...message('e=state'), retain: true });
  outbox.put(message('e=again'));
  expect(take()).toHaveLength(3);
});

test('lets what was not acknowledged wait again when the connection ends, every event of it, but for states that are newer', () => {
  const { outbox, take } = openFilled('a=old', 'b=1', 'c=1', 'e=1', 'e=2', 'e0=1');
  take(4);
  expect(outbox.size).toBe(6);
  outbox.put(message('a=new'));
  outbox.rewind();
  expect(take()).toEqual(['b=1', 'c=1', 'e=1', 'e=2', 'e0=1', 'a=new']);
  expect(outbox.size).toBe(6);
});

test('puts the announcement first, and in place of what it repeats, when a connection begins', () => {
  const { outbox, take } = openFilled('b=old', 'e=1', 'c=1');
  outbox.lead([message('a=live'), message('b=live')]);
  expect(take()).toEqual(['a=live', 'b=live', 'e=1', 'c=1']);
});

test('drops the oldest events of the same topic when they come as a flood', () => {
  const flood = Array.from({ length: 800 }, (_, count) => `e=${count}`);
  const all = openFilled('a=1', 'eday=new', ...flood).take();
  expect(all).toHaveLength(501);
  expect([...all.slice(0, 3), all.at(-1)]).toEqual(['a=1', 'eday=new', 'e=301', 'e=799']);
});

test('keeps what is news until the broker has it when answers to many topics come as a flood', () => {
  const { outbox, take } = openFilled();
  const news = { ...message('eday=new'), onAnswered: () => undefined };
  outbox.put(news);
  for (let count = 0; count < 800; count += 1) outbox.put(message(`e${count}=answer`));
  const all = take();
  expect(all).toHaveLength(500);
  expect([...all.slice(0, 2), all.at(-1)]).toEqual(['eday=new', 'e301=answer', 'e799=answer']);
});

test('drops the oldest event of all when a flood has drowned none of the topic of the newest', () => {
  const flood = Array.from({ length: 500 }, (_, count) => `e=${count}`);
  const all = openFilled(...flood, 'eday=new').take();
  expect([all.length, all[0], all.at(-1)]).toEqual([500, 'e=1', 'eday=new']);
});

test('keeps the newer message of a topic when the broker answers the older one', () => {
  const { outbox, take } = openFilled('a=old');
  const old = outbox.take();
  if (!old) throw new TypeError('one was put');
  outbox.put(message('a=new'));
  outbox.done(old);
  expect(take()).toEqual(['a=new']);
});

test('drops no event that is under way when others come as a flood', () => {
  const { outbox, take } = openFilled('e=first');
  take();
  for (let count = 0; count < 600; count += 1) outbox.put(message(`e=${count}`));
  outbox.rewind();
  expect([outbox.size, take()[0]]).toEqual([501, 'e=first']);
});

test('gives up a message that the broker does not want now when a newer one of its topic waits', () => {
  const { outbox, take } = openFilled('a=old', 'b=1');
  const [old, other] = [outbox.take(), outbox.take()];
  if (!old || !other) throw new TypeError('two were put');
  outbox.put(message('a=new'));
  outbox.holdBack(old);
  outbox.holdBack(other);
  expect(take()).toEqual(['a=new']);
  outbox.release();
  expect(take()).toEqual(['b=1']);
});

test('is idle when nothing waits or is on its way but what the broker does not want now', () => {
  const { outbox } = openFilled('a=1');
  expect(outbox.isIdle).toBe(false);
  const taken = outbox.take();
  expect(outbox.isIdle).toBe(false);
  if (taken) outbox.holdBack(taken);
  expect(outbox.isIdle).toBe(true);
});

test('drops the oldest event when each has a topic of its own and is news until it is answered', () => {
  const { outbox, take } = openFilled();
  for (let count = 0; count < 501; count += 1)
    outbox.put({ ...message(`e${count}=1`), onAnswered: () => undefined });
  expect(take().slice(0, 2)).toEqual(['e1=1', 'e2=1']);
});

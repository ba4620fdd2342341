// What one reader of retained topics is told: what differs, what has gone, and everything again when it has forgotten.
import { expect, test } from 'vitest';
import { type Retained, RetainedDiff, withdrawAll } from '../../src/publication/retainedDiff.ts';

const DEVICE = 'homeassistant/device/heat2mqtt_meter_1/config';

const state = (topic: string, payload: string): Retained => ({
  topic,
  write: () => ({ topic, payload, retain: true }),
});
const device = (...keys: string[]): Retained => {
  const components = Object.fromEntries(keys.map((key) => [key, { platform: 'sensor', name: key }]));
  return { topic: DEVICE, stamp: keys.join(), components, frame: {} };
};
const topicsOf = (messages: readonly { topic: string }[]) => messages.map(({ topic }) => topic);

test('tells what differs, and everything when the reader has forgotten', () => {
  const diff = new RetainedDiff();
  expect(topicsOf(diff.take('home', [state('a', '1'), state('b', '1')]))).toEqual(['a', 'b']);
  expect(topicsOf(diff.take('home', [state('a', '1'), state('b', '2')]))).toEqual(['b']);
  diff.forget((topic) => topic === 'a');
  expect(topicsOf(diff.take('home', [state('a', '1'), state('b', '2')]))).toEqual(['a']);
});

test('writes a payload again when one of its sources is another one', () => {
  const diff = new RetainedDiff();
  const [ledger, currency] = [{}, 'EUR'];
  let written = 0;
  const list = (...sources: unknown[]): Retained => ({
    topic: 'list',
    sources,
    write: () => ({ topic: 'list', payload: `${++written}`, retain: true }),
  });
  expect(diff.take('home', [list(ledger, currency)])).toHaveLength(1);
  expect(diff.take('home', [list(ledger, currency)])).toHaveLength(0);
  expect(diff.take('home', [list({}, currency)])).toHaveLength(1);
  expect(written).toBe(2);
  // Opened anew: the sources are other objects, and may be known to say the same.
  const reopened = new RetainedDiff({ topics: diff.kept().topics, components: {} });
  expect(
    reopened.take('home', [list({}, currency), state('a', '1')], true).map(({ topic }) => topic),
  ).toEqual(['a']);
  expect(written).toBe(2);
});

test('clears a topic once when no owner has it any more, and remembers it until the reader has that', () => {
  const diff = new RetainedDiff({ topics: { old: '' }, components: {} });
  diff.take('home', [state('a', '1'), state('b', '1')]);
  diff.take('other', [state('c', '1')]);
  diff.take('home', [state('a', '1')]);
  const gone = diff.gone();
  expect(gone).toEqual([
    { topic: 'old', payload: '', retain: true },
    { topic: 'b', payload: '', retain: true },
  ]);
  expect(diff.gone()).toEqual([]);
  expect(Object.keys(diff.kept().topics)).toContain('old');
  for (const message of gone) diff.delivered(message);
  expect(Object.keys(diff.kept().topics)).toEqual(['a', 'c']);
});

test('tells a topic again when it comes back before its clearing has arrived', () => {
  const diff = new RetainedDiff();
  diff.take('home', [state('a', '1'), state('b', '1')]);
  diff.take('home', [state('a', '1')]);
  const [clearing] = diff.gone();
  expect(topicsOf(diff.take('home', [state('a', '1'), state('b', '1')]))).toEqual(['b']);
  if (clearing) diff.delivered(clearing);
  expect(Object.keys(diff.kept().topics)).toEqual(['a', 'b']);
  diff.take('home', [state('a', '1')]);
  expect(topicsOf(diff.gone())).toEqual(['b']);
});

test('counts an entity as gone when the whole document has arrived', () => {
  const diff = new RetainedDiff();
  for (const message of diff.take('home', [device('one', 'two')])) diff.delivered(message);
  for (const [sent, arriving] of [
    [2, 1],
    [2, 2],
    [1, 1],
  ] as const) {
    diff.forget();
    const messages = diff.take('home', [device('one')]);
    expect(messages).toHaveLength(sent);
    for (const message of messages.slice(0, arriving)) diff.delivered(message);
  }
});

test('says that there is something to keep when a topic is new or gone for certain', () => {
  let changes = 0;
  const diff = new RetainedDiff(null, () => {
    changes += 1;
  });
  const take = (...all: Retained[]) => diff.take('home', all);
  take(state('a', '1'));
  expect(changes).toBe(1);
  take(state('a', '2'));
  expect(changes).toBe(1);
  const [document] = take(device('one'));
  expect(changes).toBe(2);
  if (document) diff.delivered(document);
  expect(changes).toBe(3);
  for (const message of diff.gone()) diff.delivered(message);
  expect([changes, Object.keys(diff.kept().topics)]).toEqual([4, [DEVICE]]);
});

test('goes on when another process has what was kept, and withdraws devices first', () => {
  const before = new RetainedDiff();
  const all = [state('a', '1'), device('one')];
  for (const message of before.take('home', all)) before.delivered(message);
  const after = new RetainedDiff(before.kept());
  expect(after.take('home', all)).toEqual([]);
  expect(topicsOf(withdrawAll(after.kept()))).toEqual([DEVICE, 'a']);
});

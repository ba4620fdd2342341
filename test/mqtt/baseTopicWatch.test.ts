// What is heard on our own topics: a word that is not ours is put right, another installation is told of and answered once.
import { expect, test } from 'vitest';
import { BaseTopicWatch } from '../../src/mqtt/baseTopicWatch.ts';
import type { Incoming } from '../../src/mqtt/message.ts';
import { handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';

const STATE = 'heat/bridge/state';
const INFO = 'heat/bridge/info';
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

const incoming = (topic: string, payload: string, retained = false): Incoming => ({
  topic,
  payload: Buffer.from(payload),
  retained,
  responseTopic: undefined,
  correlationData: undefined,
});
const info = (instance: string, more = {}) =>
  JSON.stringify({ schema: 1, version: '1.0.0', base_topic: 'heat', instance, ...more });

function open(clock = handClock('2025-03-10T12:00:00Z'), instance = 'mine') {
  const said: string[] = [];
  const { log, messages } = logLines();
  const connection = { isLost: false };
  let changes = 0;
  const watch = new BaseTopicWatch({
    stateTopic: STATE,
    infoTopic: INFO,
    instance,
    clock,
    log,
    isConnected: () => !connection.isLost,
    sayOnline: (isAll) => void said.push(isAll ? 'everything' : 'online'),
    sayInfo: () => void said.push('info'),
    onChange: () => {
      changes += 1;
    },
  });
  return {
    clock,
    connection,
    watch,
    said,
    warnings: () => messages('warn'),
    changes: () => changes,
    hear: (topic: string, payload: string, retained = false) =>
      watch.hear(incoming(topic, payload, retained)),
    codes: () => watch.reasons().map(({ code }) => code),
  };
}

test('puts nothing right, and tells nothing, when the broker has stopped after our will', () => {
  const { hear, said, clock, connection, warnings } = open();
  hear(STATE, 'offline');
  connection.isLost = true;
  clock.advance(2_000);
  expect([said, warnings()]).toEqual([[], []]);
});

test.each(['offline', '', 'nonsense'])('a live "%s" is put right within two seconds', (word) => {
  const { hear, said, clock, codes } = open();
  hear(STATE, word);
  expect(said).toEqual([]);
  clock.advance(2_000);
  expect(said).toEqual(['online']);
  // It says nothing of who it was.
  expect(codes()).toEqual([]);
  clock.advance(HOUR_MS);
  expect(said).toEqual(['online']);
});

test('says online every ten seconds, and once more at the end, when others flood bridge/state', () => {
  const { hear, said, clock, warnings } = open();
  for (let second = 0; second < 30; second += 1) {
    hear(STATE, 'offline');
    clock.advance(1_000);
  }
  expect(said).toHaveLength(3);
  clock.advance(10_000);
  expect(said).toHaveLength(4);
  expect(clock.sleepers).toBe(0);
  expect(warnings()).toHaveLength(1);
});

test('says nothing when an online follows by itself, whoever says it', () => {
  const { hear, said, clock } = open();
  hear(STATE, 'offline');
  clock.advance(900);
  hear(STATE, 'online');
  clock.advance(HOUR_MS);
  expect(said).toEqual([]);
  // The will of a former connection, which the broker publishes after we have said online anew.
  hear(STATE, 'online');
  hear(STATE, 'offline');
  clock.advance(2_000);
  expect(said).toEqual(['online']);
});

test('sees no other installation when a message is retained, our own, or of no installation', () => {
  const { hear, said, clock, codes } = open();
  hear(STATE, 'offline', true);
  hear(INFO, info('theirs'), true);
  hear(INFO, info('mine'));
  for (const nonsense of [
    '',
    '{"instance":7}',
    '{"instance":""}',
    '[]',
    'null',
    '{',
    '"theirs"',
    info('x'.repeat(200)),
  ])
    hear(INFO, nonsense);
  expect(hear('heat/bridge/health', info('theirs'))).toBe(false);
  expect(hear(STATE, 'online')).toBe(true);
  clock.advance(HOUR_MS);
  expect([said, codes()]).toEqual([[], []]);
});

test('tells of another installation and answers it once when it speaks again and again, and one more ten seconds later', () => {
  const { hear, said, clock, codes, warnings, changes } = open();
  hear(INFO, info('theirs'));
  expect([said, codes(), changes()]).toEqual([['info'], ['two_installations'], 1]);
  hear(INFO, info('mine'));
  for (let second = 0; second < 5; second += 1) {
    hear(INFO, info('theirs'));
    clock.advance(1_000);
  }
  hear(INFO, info('third'));
  clock.advance(4_999);
  expect(said).toEqual(['info']);
  clock.advance(1);
  expect(said).toEqual(['info', 'info']);
  clock.advance(MINUTE_MS);
  expect([said.length, changes()]).toEqual([2, 1]);
  expect(warnings()).toHaveLength(1);
});

test('tells of another installation when that is of a version without instances', () => {
  const { hear, said, codes } = open();
  hear(INFO, '{"schema":1,"version":"0.1.0","base_topic":"heat"}');
  expect([said, codes()]).toEqual([['info'], ['two_installations']]);
});

test('withdraws the reason an hour after the other was heard last, and speaks every quarter of an hour until then', () => {
  const { hear, said, clock, codes, changes } = open();
  hear(INFO, info('theirs'));
  clock.advance(14 * MINUTE_MS);
  expect(said).toHaveLength(1);
  clock.advance(MINUTE_MS);
  expect(said).toHaveLength(2);
  hear(INFO, info('theirs'));
  clock.advance(HOUR_MS - 1);
  expect(codes()).toEqual(['two_installations']);
  clock.advance(1);
  expect([codes(), changes()]).toEqual([[], 2]);
  const before = said.length;
  clock.advance(24 * HOUR_MS);
  expect(said).toHaveLength(before);
  expect(clock.sleepers).toBe(0);
  // It is news once more.
  hear(INFO, info('theirs'));
  expect([said.length, codes()]).toEqual([before + 1, ['two_installations']]);
});

test('says everything again, once, when another installation goes', () => {
  const { hear, said, clock } = open();
  hear(INFO, info('theirs'));
  clock.advance(MINUTE_MS);
  hear(STATE, 'offline');
  clock.advance(2_000);
  expect(said).toEqual(['info', 'everything']);
  clock.advance(MINUTE_MS);
  hear(STATE, 'offline');
  clock.advance(2_000);
  expect(said).toEqual(['info', 'everything', 'online']);
});

test('reads bridge/info once a second when others flood it', () => {
  const { hear, said, clock } = open();
  for (let at = 0; at < 5_000; at += 1) hear(INFO, info(`theirs-${at}`));
  expect(said).toEqual(['info']);
  clock.advance(20_000);
  expect(said).toEqual(['info', 'info']);
});

test('answers nothing when it is stopped', () => {
  const { hear, said, clock, watch } = open();
  hear(STATE, 'offline');
  hear(INFO, info('theirs'));
  watch.stop();
  hear(STATE, 'offline');
  hear(INFO, info('third'));
  clock.advance(24 * HOUR_MS);
  expect([said, clock.sleepers]).toEqual([['info'], 0]);
});

test('falls silent when two installations hear one another, and both know', () => {
  const clock = handClock('2025-03-10T12:00:00Z');
  const both = [open(clock, 'one'), open(clock, 'two')];
  const published: string[] = [];
  /** What either of them says comes to both. */
  function carry(): void {
    for (const [at, { said }] of both.entries())
      for (const what of said.splice(0)) {
        published.push(what);
        const [topic, payload] = what === 'info' ? [INFO, info(at === 0 ? 'one' : 'two')] : [STATE, 'online'];
        for (const { hear } of both) hear(topic, payload);
      }
  }
  for (const { hear } of both) hear(INFO, info('two'));
  for (let second = 0; second < 600; second += 1) {
    carry();
    clock.advance(1_000);
  }
  expect(published).toEqual(['info', 'info']);
  expect(both.map(({ codes }) => codes())).toEqual([['two_installations'], ['two_installations']]);
});

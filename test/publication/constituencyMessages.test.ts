// The lists of constituencies on MQTT: their topics, their payload, and what Home Assistant shows.
import { describe, expect, test } from 'vitest';
import { summaryMessage } from '../../src/constituencies/onDemand.ts';
import type { Constituency, ConstituencyList, ConstituencyQuestion } from '../../src/domain/constituency.ts';
import { zone } from '../../src/domain/period.ts';
import { Topics } from '../../src/publication/topics.ts';

const topics = new Topics('heat2mqtt');
const dublin = zone('Europe/Dublin');
const ALL: ConstituencyQuestion = { chamber: null, houseNo: null, chamberIds: [], skip: null, limit: null };
const DAIL: ConstituencyQuestion = { ...ALL, chamber: 'dail', houseNo: 34 };
const FETCHED_AT = Date.parse('2026-07-01T10:00:00Z');

const row = (name: string): Constituency => ({
  uri: `https://x/${name}`,
  name,
  code: 'Code',
  type: 'constituency',
  house: { chamber: 'dail', houseNo: 34, name: '34ú Dáil', uri: 'https://x/34' },
});
const listOf = (names: readonly string[]): ConstituencyList => {
  return { constituencies: names.map(row), total: names.length, complete: true, raw: null };
};
const view = (list: ConstituencyList, question = DAIL) => {
  return { question, list, fetchedAt: FETCHED_AT, stale: false };
};

describe('the summary for Home Assistant', () => {
  const summaryOf = (names: readonly string[] | null) => {
    const shown = names === null ? null : view(listOf(names));
    return JSON.parse(summaryMessage(topics, dublin, 'dail/34', shown).payload);
  };

  test('is there before the first request, knowing nothing', () => {
    expect(summaryOf(null)).toEqual({
      schema: 1,
      count: null,
      topic: 'heat2mqtt/constituencies/dail/34',
      fetched_at: null,
      stale: null,
      names: null,
      note: null,
    });
  });

  test('has every name once', () => {
    expect(summaryOf(['Éadán', 'Zion'])).toMatchObject({ count: 2, names: ['Éadán', 'Zion'], note: null });
    expect(summaryOf(['Éadán', 'Éadán', 'Zion'])).toMatchObject({
      count: 3,
      names: ['Éadán', 'Zion'],
      note: '3 constituencies have 2 different names.',
    });
  });

  test('leaves the names out when attributes would grow over 16 KiB', () => {
    const many = (count: number) => Array.from({ length: count }, (_, n) => `Dáilcheantar ${n}`);
    expect(summaryOf(many(600)).names).toHaveLength(600);
    expect(summaryOf(many(1_300))).toMatchObject({
      count: 1_300,
      names: null,
      note: 'The 1300 names are too long for Home Assistant. They are on the topic of the list.',
    });
  });
});

// Questions to the public list: what may be asked, and the parameter that each refusal names.
import { describe, expect, test } from 'vitest';
import { openPublicList } from '../../src/constituencies/publicList.ts';
import { requestMalformed } from '../../src/mqtt/requests.ts';
import { handClock } from '../support/clock.ts';

const CONFIG = { base_url: 'https://list.example.org/v1', chamber: 'dail', house_no: 34 } as const;
const USUAL = { chamber: 'dail', houseNo: 34 };
const publicList = openPublicList(CONFIG, handClock('2026-03-10T12:00:00Z'));
const questionFrom = (given: Record<string, unknown>) => publicList.readQuestion(given).question;
const NOTHING = { chamber: null, houseNo: null, chamberIds: [], skip: null, limit: null };

describe('what is asked', () => {
  test.each([
    ['nothing: the configured question', {}, { ...USUAL }],
    ['a chamber: all its houses', { chamber: 'seanad' }, { chamber: 'seanad' }],
    ['both chambers', { chamber: '' }, {}],
    ['a house of both chambers', { house_no: 3 }, { houseNo: 3 }],
    ['an empty list chooses nothing', { chamber_id: [] }, { ...USUAL }],
  ])('%s', (_, given, found) => {
    expect(questionFrom(given)).toEqual({ ...NOTHING, ...found });
  });

  test('makes the same question of house URIs in any order and form', () => {
    const both = ['/ie/oireachtas/house/dail/33', '/ie/oireachtas/house/seanad/27'];
    const absolute = `https://data.oireachtas.ie${both[1]}`;
    expect(questionFrom({ chamber_id: both[0] })).toEqual({ ...NOTHING, chamberIds: [both[0]] });
    expect(questionFrom({ chamber_id: [absolute, both[0], both[1]] }).chamberIds).toEqual(both);
  });
});

describe('what is refused', () => {
  const URI = '/ie/oireachtas/house/dail/33';
  test.each([
    ['chamber', ['commons', 'Dail', 5, null, ['dail']]],
    ['house_no', [0, -1, 0.5, '34', 10_000, 1e300, null, true]],
    ['skip', [-1, 'x', 1.5, [], {}]],
    ['limit', [-1, 0, 5_001, '10', Number.NaN]],
    [
      'chamber_id',
      [
        '',
        5,
        [1],
        null,
        'http://evil/house',
        '/ie/oireachtas/house/commons/1',
        `${URI}?a=b`,
        ` ${URI}`,
        `ftp://host${URI}`,
        `https://a/b${URI}`,
        '/ie/oireachtas/house/dail/0',
        Array.from({ length: 51 }, (_, n) => `/ie/oireachtas/house/dail/${n + 1}`),
      ],
    ],
  ])('%s', (name, values) => {
    for (const value of values as readonly unknown[]) {
      const ask = () => questionFrom({ [name]: value });
      expect(ask, JSON.stringify(value)).toThrow(expect.objectContaining({ code: 'request_malformed' }));
      expect(ask).toThrow(new RegExp(`^${name}: found .*; allowed: .+\\.$`, 's'));
    }
  });

  test('echoes no long junk, and names the parameter as the caller does', () => {
    const ask = () => publicList.readQuestion({ house_no: 'x'.repeat(5_000) }, (name) => `--${name}`);
    expect(ask).toThrow(/^--house_no: found "x{59}; allowed: a whole number from 1 to 9999\.$/);
  });

  test('tells all mistakes at once, each with its parameter', () => {
    const URIS = ['x', 'y'];
    expect(() => questionFrom({ chamber_id: URIS, limit: -1, tempo: 3, skip: 1 })).toThrow(
      requestMalformed(
        'chamber_id: found ["x","y"]; allowed: a house URI such as /ie/oireachtas/house/dail/33, or a list of at most 50. ' +
          'limit: found -1; allowed: a whole number from 1 to 5000. ' +
          'Unknown parameter "tempo"; allowed: chamber, house_no, chamber_id, skip, limit, force, transaction.',
      ),
    );
  });
});

// No secret in any line: the scrubber with canaries in every form in which they come by, and the log behind it.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { failure } from '../../src/foundation/failure.ts';
import { createLog, createScrubber, LogTail } from '../../src/foundation/log.ts';
import { logLines } from '../support/logLines.ts';
import { holds } from '../support/property.ts';

const SECRET = 'cänary "17"\\\n&+= %41/?#@:;$\'';
const TOKEN = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJlLWNhbmFyeQ';

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}

const FORMS: readonly (readonly [string, (secret: string) => string])[] = [
  ['plain', (secret) => secret],
  ['URL-encoded', encodeURIComponent],
  ['as a form field', (secret) => new URLSearchParams({ password: secret }).toString()],
  [
    'as the password of a URL',
    (secret) => {
      const url = new URL('mqtt://me@broker.example');
      url.password = secret;
      return url.href;
    },
  ],
  ['base64', base64],
  ['base64 without padding', (secret) => base64(secret).replace(/=+$/, '')],
  ['base64url', (secret) => Buffer.from(secret, 'utf8').toString('base64url')],
  ['in JSON', (secret) => JSON.stringify({ password: secret })],
  ['in JSON in JSON', (secret) => JSON.stringify({ body: JSON.stringify({ password: secret }) })],
];

describe('the scrubber', () => {
  test('masks any secret in any form, alone or among others', () => {
    const secret = fc.string({ unit: 'grapheme', minLength: 4 }).filter((one) => !'[secret]'.includes(one));
    holds(fc.array(secret, { minLength: 1, maxLength: 4 }), (secrets) => {
      const scrubber = createScrubber();
      for (const one of secrets) scrubber.register(one);
      for (const [form, write] of FORMS) {
        for (const one of secrets) {
          const clean = scrubber.scrub(`before ${write(one)} after`);
          expect(clean, form).toMatch(/^before .*\[secret\].* after$/s);
          expect(clean, form).not.toContain(write(one));
        }
      }
    });
  });

  test.each([
    [['hunter', 'hunter2-and-more'], 'hunter2-and-more, hunter', '[secret], [secret]'],
    [['hunter2-and-more', 'hunter'], 'hunter2-and-more, hunter', '[secret], [secret]'],
    [['old-hunter-and-more', 'hunter'], 'an old-hunter-and-more', 'an [secret]'],
    [['abcd', 'cdefgh'], '<abcdefgh> <abcd> <cdefghabcd>', '<[secret]> <[secret]> <[secret][secret]>'],
  ])('of %j, which overlap, nothing stays behind', (secrets, text, clean) => {
    const scrubber = createScrubber();
    for (const one of secrets) scrubber.register(one);
    expect(scrubber.scrub(text)).toBe(clean);
  });

  test('masks each of thousands of secrets, and the tokens that came among them', () => {
    const scrubber = createScrubber();
    for (let n = 0; n < 20_000; n += 1) scrubber.register(`invented-${n}-password`);
    scrubber.registerToken('invented-token');
    const known = 'invented-0-password,invented-19999-password,invented-token';
    const clean = '[secret],[secret],[secret],invented-20000-password';
    expect(scrubber.scrub(`${known},invented-20000-password`)).toBe(clean);
  });

  test.each([
    ['as it is', TOKEN],
    ['without its signature', TOKEN.split('.').slice(0, 2).join('.')],
    ['in a header', `Bearer ${TOKEN}`],
    ['in a URL', `https://id.example.org/?token=${TOKEN}&x=1`],
  ])('a JWT that nobody registered: %s', (_, text) => {
    const clean = createScrubber().scrub(text);
    expect(clean).toContain('[secret]');
    expect(clean).not.toMatch(/eyJ|c2lnbmF0/);
  });

  test('leaves what is no secret as it is', () => {
    const scrubber = createScrubber();
    scrubber.register('');
    scrubber.register('abc');
    scrubber.register(SECRET);
    const line = '{"level":"info","abc":1,"msg":"energy 12.5 kWh at https://id.example.org/a%20b"}';
    expect(scrubber.scrub(line)).toBe(line);
  });

  test('masks a secret until all who have registered it have forgotten it', () => {
    const scrubber = createScrubber();
    for (const change of ['register', 'register', 'forget'] as const) scrubber[change](SECRET);
    expect(scrubber.scrub(SECRET)).toBe('[secret]');
    scrubber.forget(SECRET);
    expect(scrubber.scrub(SECRET)).toBe(SECRET);
  });

  test('forgets the oldest tokens when more come, and never a secret', () => {
    const scrubber = createScrubber();
    scrubber.register(SECRET);
    const tokens = Array.from({ length: 500 }, (_, index) => `opaque-token-number-${index}-of-many`);
    for (const token of tokens) scrubber.registerToken(token);
    expect(tokens.slice(-40).map(scrubber.scrub)).toEqual(Array(40).fill('[secret]'));
    expect(scrubber.scrub(tokens[0] ?? '')).toBe(tokens[0]);
    expect(scrubber.scrub(SECRET)).toBe('[secret]');
  });
});

describe('the log', () => {
  function openLog(level = 'trace') {
    const opened = logLines(level);
    opened.scrubber.register(SECRET);
    return opened;
  }

  test('writes a whole line without the secret when that is in a value or a key', () => {
    const pieces = [
      '"level":',
      '","msg":"',
      '"msg":"told',
      '{"',
      '}}\n',
      '\\"\\',
      'true',
      'null',
      'info',
      '1045',
    ];
    const secret = fc
      .oneof(fc.constantFrom(...pieces), fc.nat().map(String), fc.string({ unit: 'grapheme' }))
      .filter((one) => one.length >= 4 && !'[secret]'.includes(one));
    holds(secret, (one) => {
      const { lines, scrubber, log } = openLog();
      scrubber.register(one);
      const at = Number(one) || true;
      log.info({ deep: [{ at, none: null, text: `ü${one}ü` }], [`ü${one}ü`]: 21_045.5 }, `told ü${one}ü`);
      expect(lines[0]).toMatch(/^[^\n]+\n$/);
      const line = JSON.parse(lines[0] ?? '');
      expect(line.msg).toMatch(/ü\[secret\]ü$/);
      expect(line.deep[0] ?? line).toMatchObject({ text: 'ü[secret]ü' });
      expect(line).toHaveProperty(['ü[secret]ü']);
      const texts: string[] = [];
      JSON.parse(lines[0] ?? '', (key, value) => {
        texts.push(key, String(typeof value === 'object' && value !== null ? '' : value));
        return value;
      });
      expect(texts.filter((text) => text.includes(one))).toEqual([]);
    });
  });

  test('tells the other followers, and fails nobody who logs, when one follower throws', () => {
    const tail = new LogTail();
    const seen: string[] = [];
    tail.follow(() => {
      throw new Error('oops');
    });
    tail.follow((line) => void seen.push(line));
    const log = createLog({ level: 'info', scrubber: createScrubber(), write: () => undefined, tail });
    log.info('told');
    expect(seen).toEqual(tail.lines);
  });

  /** An error as it may come with an answer: everything that is in it is text of the other side. */
  function quoting(text: string): Error {
    const cause = Object.assign(new SyntaxError(`in "${text}"`), { code: text, name: text });
    const err = new TypeError(`refused ${text}\n    at ${text} (/a.js:1:2)\n${text}`, { cause });
    return Object.assign(err, { detail: text, response: { body: text }, cert: { subject: { CN: text } } });
  }

  test.each(['trace', 'info'])(
    'at the level %s nothing of an error is told but what kind it is, and where',
    (level) => {
      const words = 'Órla Canarywood, 17 Kanarienvogel Lane';
      const { lines, log } = openLog(level);
      const err = quoting(words);
      log.error({ err }, 'told');
      log.error({ err: failure('x', 'No.', { exit: 5, retry: 'soon', cause: err }) }, 'told');
      log.error({ err: words }, 'told');
      expect(lines.join('')).not.toMatch(/Órla|Canary|Kanarien/);
      const [own = {}, foreseen, text] = lines.map((line) => JSON.parse(line).err);
      expect(own).toMatchObject({ type: 'TypeError', cause: 'Error' });
      expect(own.stack).toMatch(/^ {4}at quoting \(.*log\.test\.ts:\d+:\d+\)\n/);
      expect(foreseen).toMatchObject({ code: 'x', message: 'No.', cause: 'TypeError < Error' });
      expect(text).toEqual({ type: 'string', stack: '' });
    },
  );

  test('tells the codes of causes, and the mistakes of this program that JavaScript has found', () => {
    const { lines, log } = openLog();
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    log.error({ err: new TypeError('fetch failed', { cause: refused }) }, 'told');
    const nothing = JSON.parse('null');
    for (const mistake of [() => nothing.total, () => nothing(), () => new Array(-1)]) {
      try {
        mistake();
      } catch (err) {
        log.error({ err }, 'told');
      }
    }
    expect(lines.map((line) => JSON.parse(line).err)).toMatchObject([
      { type: 'TypeError', cause: 'Error ECONNREFUSED' },
      { type: 'TypeError', message: "Cannot read properties of null (reading 'total')" },
      { type: 'TypeError', message: 'nothing is not a function' },
      { type: 'RangeError', message: 'Invalid array length' },
    ]);
  });

  test.each([
    ['in message, field and key', SECRET, { a: { b: [{ c: `x${SECRET}y` }] }, [SECRET]: 1 }],
    ['in a URL', 'told', { url: `mqtt://me:${encodeURIComponent(SECRET)}@broker.example` }],
    ['a JWT', TOKEN, { header: `Bearer ${TOKEN}` }],
  ])('a secret %s', (_, message, fields) => {
    const { lines, log } = openLog();
    log.info(fields, message);
    log.child({ room: SECRET }).debug(fields, message);
    expect(lines).toHaveLength(2);
    for (const line of lines) {
      expect(line).toContain('[secret]');
      for (const [, write] of FORMS) expect(line).not.toContain(write(SECRET));
      expect(line).not.toMatch(/eyJ|cänary/);
      expect(JSON.parse(line)).toMatchObject({ level: expect.stringMatching(/^(info|debug)$/) });
    }
  });

  test('writes one line of JSON for each, with level, time and the name of the error, and nothing below the level', () => {
    const { lines, log } = openLog('info');
    log.debug('quiet');
    log.error({ err: new TypeError('oops') }, 'loud');
    expect(lines).toHaveLength(1);
    const line = JSON.parse(lines[0] ?? '');
    expect(line).toMatchObject({ level: 'error', msg: 'loud', err: { type: 'TypeError' } });
    expect(new Date(line.time).toISOString()).toBe(line.time);
    expect(line).not.toHaveProperty('pid');
  });

  test('tells a foreseen failure with its advice and cause, and with its stack when one debugs', () => {
    const err = failure('unreachable', 'Nobody is there.', {
      exit: 6,
      retry: 'soon',
      hint: 'Look.',
      cause: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }),
    });
    const errOf = (line = '') => JSON.parse(line).err;
    const quiet = openLog('info');
    quiet.log.warn({ err }, 'told');
    expect(errOf(quiet.lines[0])).toEqual({
      code: 'unreachable',
      message: 'Nobody is there.',
      hint: 'Look.',
      cause: 'Error ECONNREFUSED',
    });
    const { lines, log } = openLog('debug');
    log.warn({ err }, 'told');
    expect(errOf(lines[0])).toMatchObject({ hint: 'Look.', stack: expect.stringContaining('at ') });
  });
});

// Whatever an issuer answers, page after page: the password goes out at most once, and never to another site.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RUNS } from '../support/property.ts';
import {
  type Answer,
  action,
  actionOf,
  done,
  html,
  login,
  openLoginPages,
  otp,
  outcomeOf,
  PASSWORD,
  passwordPage,
  redirect,
  USERNAME,
  usernamePage,
} from './loginPages.ts';

const CODE = '918273';

const among = (texts: string) => fc.constantFrom(...texts.split(' | '));
const target = among(
  `${actionOf('e1')} | ${actionOf('e2')} | /go | ?x=1 |  | FOREIGN/go | //localhost:9/go | javascript:go() | http://[`,
);
const field = fc
  .tuple(
    among('username | password | otp | password-new | email | q | totp | '),
    among('text | password | hidden | email | submit | PASSWORD | checkbox | odd'),
    among(' | username | current-password | new-password | one-time-code'),
    among(' | required | disabled | form="f" | formaction="FOREIGN/b" | value="1"'),
  )
  .map(([name, type, auto, rest]) => `<input name="${name}" type="${type}" autocomplete="${auto}" ${rest}>`);
const form = fc
  .tuple(target, among('post | POST | get'), among('f | g'))
  .map(([to, method, id]) => `<form id="${id}" action="${to}" method="${method}">`);
const tag = fc.oneof(
  { weight: 4, arbitrary: field },
  { weight: 3, arbitrary: form },
  among('</form> | <div> | </div> | <table><tr> | </table> | <template> | </template> | <!-- | -->'),
  among(
    '<base href="FOREIGN/"> | <span id="input-error"> | <i class="kc-feedback-text"> | <i data-sitekey="k">',
  ),
  among('/next | FOREIGN/next').map((url) => `<meta http-equiv="refresh" content="0;url=${url}">`),
);
const soup = fc.array(tag, { maxLength: 12 }).map((tags) => html(tags.join('')));
const known: fc.Arbitrary<Answer> = fc.constantFrom(
  ...[login('e1'), login('e2'), login('e1', '<i id="input-error">')],
  ...[usernamePage(), passwordPage('e1'), passwordPage('e3'), otp('e2'), otp('e3')],
  ...[action('UPDATE_PASSWORD'), redirect('/realms/energy/next'), redirect('/realms/energy/next', 307)],
  ...[redirect('FOREIGN/next'), redirect('FOREIGN/next', 308)],
  ...[html('', { status: 500 }), html('', { status: 400 }), { isReset: true }, done],
);

test('posts the password at most once, and only to the issuer, whatever the pages are', async () => {
  const pages = await openLoginPages();
  const told = fc.array(fc.oneof(known, soup), { minLength: 1, maxLength: 15 });
  let signedIn = 0;
  await fc.assert(
    fc.asyncProperty(told, async (answers) => {
      pages.play(...answers);
      const { url, failure } = await outcomeOf(pages, { code: async () => CODE });
      if (url) signedIn += 1;
      const passwords = pages.posted(PASSWORD);
      expect(passwords.length).toBeLessThanOrEqual(1);
      expect(passwords.every(({ method, path }) => method === 'POST' && !path.includes('password'))).toBe(
        true,
      );
      expect(pages.posted(CODE).length).toBeLessThanOrEqual(1);
      expect(pages.seen.filter(({ at }) => at === 'foreign')).toEqual([]);
      expect(pages.seen.length).toBeLessThanOrEqual(12);
      const words = `${failure?.message} ${failure?.hint}`;
      expect([USERNAME, PASSWORD, CODE].filter((secret) => words.includes(secret))).toEqual([]);
    }),
    { numRuns: RUNS * 3 },
  );
  // Otherwise nothing was tried.
  expect(signedIn).toBeGreaterThan(0);
});

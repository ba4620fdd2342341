// What the page says of a bill: paid or due, by the same rule as everything else that is published of it.
import { expect, test } from 'vitest';
import { WORDS } from '../../../src/publication/language.ts';
import { billWords } from '../../../src/web/page/bills.ts';
import { useWords } from '../../../src/web/page/words.ts';

const BILL = { amount: 80, amount_due: null, currency: 'EUR', due: '2026-11-12', status: null };

test.each<[string, string | null, number | null, string | null]>([
  ['€80.00, paid', 'Settled', null, '2026-11-12'],
  ['€80.00, paid', 'Paid', null, '2026-11-12'],
  ['€80.00, paid', null, 0, '2026-11-12'],
  ['€80.00, due 12 Nov 2026', 'Sent', null, '2026-11-12'],
  ['€80.00, due 12 Nov 2026', 'Sent', 80, '2026-11-12'],
  ['€80.00', null, null, null],
])(
  'says %s when the provider calls it %s, %s is open and it is due on %s',
  (words, status, amount_due, due) => {
    useWords({ language: 'en', locale: 'en-IE', words: WORDS.en.page, dates: WORDS.en.dates }, []);
    expect(billWords({ ...BILL, status, amount_due, due })).toBe(words);
  },
);

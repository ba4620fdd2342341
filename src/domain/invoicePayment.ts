// A bill is paid or not by what is open of it, and by the provider's own words.

interface Bill {
  /** The provider's own word; `null`: not told. */
  readonly status: string | null;
  /** The part of it that is still to be paid; `null` = not told. */
  readonly open: number | null;
}

// Not all words of the provider are known: any other decides nothing. A bill that is closed may be unpaid.
const PAID = /^(fully )?(paid|settled|cleared|cancell?ed|void|voided|written off)$/;
const OVERDUE = /^(overdue|past due)$/;
const UNPAID = /^(overdue|past due|unpaid|not paid|open|partially paid|partly paid)$/;

const wordOf = ({ status }: Pick<Bill, 'status'>): string =>
  status?.toLowerCase().replace(/[_-]/g, ' ') ?? '';

export const isCalledOverdue = (bill: Pick<Bill, 'status'>): boolean => OVERDUE.test(wordOf(bill));

/** Something of it is still to be paid; `null` = not known. */
export function isOpen(bill: Bill): boolean | null {
  if (PAID.test(wordOf(bill))) return false;
  if (bill.open !== null) return bill.open > 0;
  return UNPAID.test(wordOf(bill)) ? true : null;
}

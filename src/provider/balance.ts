// What is to be paid on an account, and what stands to its credit: two questions that know nothing of one another.
import * as z from 'zod';
import { type Micro, sumKnown } from '../domain/amount.ts';
import { readList } from './lists.ts';
import { looseAmount, understand, understandRow } from './reply.ts';
import { type Ask, UnexpectedReply } from './request.ts';

const BALANCE = 'balance due';
const CREDIT = 'credit balance';
const MOST_PAGES = 20;

/** `null` when the provider says that there is no open bill. */
export async function readBalance(
  ask: Ask,
  personCustomerId: string,
  signal?: AbortSignal,
): Promise<Micro | null> {
  const path = `/customers/${encodeURIComponent(personCustomerId)}/open-bill-due`;
  const json = await ask({ method: 'GET', path, what: BALANCE, signal });
  const { open_bill_due } = understand(BALANCE, z.object({ open_bill_due: z.unknown() }), json);
  return amountIn(BALANCE, 'open_bill_due', open_bill_due);
}

/** The amounts of these billing profiles added up, with the sign that the provider gives them. */
export async function readCredit(
  ask: Ask,
  { personCustomerId, profiles }: { readonly personCustomerId: string; readonly profiles: readonly string[] },
  signal?: AbortSignal,
): Promise<Micro | null> {
  const amounts: (Micro | null)[] = [];
  for (const profile of profiles.length > 0 ? profiles : [null]) {
    const rows = await readList(ask, {
      what: CREDIT,
      path: '/credit-balances',
      query: { customer: personCustomerId, ...(profile === null ? {} : { 'billing-profile': profile }) },
      row: z.looseObject({ amount: z.unknown() }),
      identity: (row) => JSON.stringify(row),
      mostPages: MOST_PAGES,
      signal,
    });
    amounts.push(...rows.map(({ amount }) => amountIn(CREDIT, 'amount', amount)));
  }
  return sumKnown(amounts);
}

/** Money that cannot be read must not pass for none. */
function amountIn(what: string, where: string, given: unknown): Micro | null {
  const amount = understandRow(looseAmount, given);
  if (amount === null && given !== null) {
    throw new UnexpectedReply(
      what,
      `a number or null at ${where}`,
      given === undefined ? 'nothing' : 'neither',
    );
  }
  return amount;
}

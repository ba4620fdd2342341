// The provider of the specification: a monetization API behind an access token, with usage reports of a search engine.
import type { OpenProvider } from '../provider.ts';
import { readBalance, readCredit, readInvoices } from './billing.ts';
import { discover, readSite } from './discovery.ts';
import { readRegister } from './register.ts';
import { usageReports } from './usageReport.ts';

export const openMonetization: OpenProvider = ({ ask, askExtra, identity, log }) => ({
  ...usageReports(ask, log),
  discover: async (signal) => discover(ask, await identity(signal), log, signal),
  invoices: (question) => readInvoices(askExtra, question),
  balance: (customer, signal) => readBalance(askExtra, customer, signal),
  credit: (customer, signal) => readCredit(askExtra, customer, signal),
  register: (question) => readRegister(askExtra, question),
  site: (signal) => readSite(askExtra, signal),
});

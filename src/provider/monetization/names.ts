// Names that related services may spell otherwise: the words of their records, and their paths below the address of the API.

export const NAMES = {
  /** The type of a service that is a heat meter. */
  heatService: 'HEAT_METER_READ_SERVICE',
  /** The resource of the usage report whose `quantity` is kWh; its `amount` is the register, which is no money. */
  energy: 'Heat - Meter Value',
  /** The resource whose `amount` is money. */
  cost: 'Euro',
  /** The nested object of a usage document, and the time of its reading. */
  reading: 'event_fields',
  readAt: 'event_fields.time_of_read.date',
  /** Groups whose properties are the customer's. */
  paymentGroup: 'payment',
  /** Invoices that count, and bills that do not count yet. */
  invoice: 'invoice',
  runningBills: ['active', 'inactive'],
  /** A single reading that was taken, not estimated. */
  actualReading: 'A',
} as const;

const customer = (id: string) => `/customers/${encodeURIComponent(id)}`;

export const PATHS = {
  customer,
  groups: (id: string) => `${customer(id)}/groups`,
  properties: '/customers',
  usage: '/reports/usage',
  readings: (property: string) => `${customer(property)}/usage-events`,
  invoices: '/invoices',
  bills: (id: string) => `${customer(id)}/bills`,
  balance: (id: string) => `${customer(id)}/open-bill-due`,
  credit: '/credit-balances',
  site: '/site',
} as const;

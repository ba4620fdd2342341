// The table of event entities: one for each topic on which events pass.

export interface EventRow {
  readonly help: string;
  readonly icon: string;
  readonly category?: 'diagnostic';
  /** Home Assistant takes no other than these. */
  readonly types: readonly string[];
}

/** Every event entity has this key. */
export const EVENT_KEY = 'event';

export const EVENT_ROWS = {
  'meter/<meter>/event': {
    help: 'A day is new or corrected, readings have become late, the tariff has changed, or the heat used is unusual.',
    icon: 'mdi:calendar-clock',
    types: ['new_day', 'corrected', 'late', 'tariff_changed', 'unusual_use'],
  },
  'account/<account>/event': {
    help: 'A new invoice has come.',
    icon: 'mdi:file-document-plus-outline',
    types: ['bill'],
  },
  'bridge/event': {
    help: 'A poll has failed, a sign-in needs a person, all is well again, or a request came too early.',
    icon: 'mdi:bell-outline',
    category: 'diagnostic',
    types: ['poll_failed', 'auth_needed', 'recovered', 'request_skipped'],
  },
} as const satisfies Readonly<Record<string, EventRow>>;

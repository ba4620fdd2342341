// What an earlier version has left behind, recorded beside a simulated provider: who lived there, and what there is. Tests let the present
// program go on with it beside the same provider. How it was recorded: scripts/upgrade-recording.sh.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AccountOptions } from '../../src/simulator/accounts.ts';
import { home, person, quiet } from './homes.ts';
import { ROOT } from './sources.ts';

/** The commit whose program was recorded. */
export const RECORDED = '125eec11';
/** Tokens and refusals belong to the address of their issuer: the tests serve it there again, one checkout after the other. */
export const PORTS = { household: 20_913, refused: 20_914, fleet: 20_915 };
/** The first day of the totals. */
export const SINCE = '2025-01-01';
/** Days are read at noon of these days; of those of the fleet none later is booked, whatever the clock says. */
export const VISITS = ['2025-11-12T12:00:00Z', '2025-11-13T12:00:00Z', '2025-11-14T12:00:00Z'] as const;

interface Place {
  readonly meter: string;
  readonly property: number;
}
const PLACES = {
  ann: { meter: '70418235', property: 512_001 },
  shared: { meter: '70420017', property: 512_002 },
  bob: { meter: '70430029', property: 512_003 },
  cas: { meter: '70440031', property: 512_004 },
} as const satisfies Record<string, Place>;
export const { ann: ANNS, shared: SHARED, bob: BOBS, cas: CASS } = PLACES;

/** `until`: the last day that is booked. */
function people(until?: string) {
  const days = { since: SINCE, ...(until === undefined ? {} : { until }) };
  const at = ({ meter, property }: Place, options: object) =>
    home(meter, quiet({ ...days, ...options }), property);
  // Days are missing, come late and are corrected here: by chance, which is the same each time.
  const shared = at(SHARED, { seed: 3, late: 0.03, missing: 0.01, corrected: 0.015 });
  return {
    ann: person('ann', [at(ANNS, { seed: 2 }), shared]),
    bob: person('bob', [shared, at(BOBS, { seed: 5 })]),
    cas: person('cas', [at(CASS, { seed: 7 })]),
  };
}

const loginOf = (id: string, { username, password }: AccountOptions) => ({ id, username, password });

/** The second account has the ledger of the shared meter: it was there first. */
export const HOUSEHOLD = (() => {
  const { ann, bob } = people();
  const [first, second] = [loginOf('first', ann), loginOf('second', bob)];
  return { people: [ann, bob], first, second };
})();

/** A household whose only account is refused: the provider has another password. */
export const REFUSED = (() => {
  const { cas } = people();
  return { people: [cas], account: { ...loginOf('home', cas), password: 'not the one that it has there' } };
})();

/** Of the two that have the shared meter the lowest id reads it. */
export const FLEET = (() => {
  const { ann, bob, cas } = people('2025-11-12');
  const logins = [loginOf('flat-a', ann), loginOf('flat-b', bob), loginOf('flat-c', cas)];
  return { people: [ann, bob, cas], logins };
})();

/** Its sessions outlive years, and its access tokens nothing: what is restored later is signed in still, and has to refresh. */
export const LASTING_TOKENS = { accessSeconds: 60, refreshSeconds: 1e9, sessionMaxSeconds: 1e9 };

/** Sections of the configuration that the recorded program had beside those of its accounts and addresses. */
export const SECTIONS = { usage: { history_since: SINCE, jitter_seconds: 0, reading_closes: 'auto' } };

export const folderOf = (what: keyof typeof PORTS): string =>
  join(ROOT, `test/fixtures/upgrade/${RECORDED}-${what}`);

export interface Recording {
  readonly commit: string;
  /** Wall clock of the recorded program, ISO 8601. */
  readonly keptAt: string;
}

/** What was retained on the broker, by topic. */
export async function openRecording(what: keyof typeof PORTS) {
  const folder = folderOf(what);
  const read = (name: string) => readFile(join(folder, name), 'utf8');
  const recording: Recording = JSON.parse(await read('recording.json'));
  const lines = (await read('retained.jsonl')).trim().split('\n');
  const messages = lines.map((line): { topic: string; payload: string } => JSON.parse(line));
  const retained = new Map(messages.map(({ topic, payload }) => [topic, payload]));
  return {
    ...recording,
    folder,
    retained: retained as ReadonlyMap<string, string>,
    json: (topic: string): Record<string, unknown> => JSON.parse(retained.get(topic) ?? '{}'),
  };
}

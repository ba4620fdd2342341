// Three processes of which one after the other is killed, stopped for longer than its claim, or loses the database: whoever
// looks from the provider, from the database or from the broker sees one fleet that works.
import { expect, test } from 'vitest';
import { tell } from '../slow/figures.ts';
import { formsOf } from '../support/canaries.ts';
import { turn, waitFor } from '../support/waitFor.ts';
import { carryOut, planOf } from './faultPlan.ts';
import { CLAIM_SECONDS, type Fleet, openFleet } from './fleet.ts';
import { MARKS, type Resident } from './residents.ts';
import { waitForTruth } from './truth.ts';

const { HEAT2MQTT_FLEET_ACCOUNTS = '200', HEAT2MQTT_FLEET_FAULTS = '60', HEAT2MQTT_SEED = '1' } = process.env;
const ACCOUNTS = Number(HEAT2MQTT_FLEET_ACCOUNTS);
const FAULTS = Number(HEAT2MQTT_FLEET_FAULTS);
const SEED = Number(HEAT2MQTT_SEED);
/** Some ten polls a second, however many accounts there are. */
const EVERY_SECONDS = Math.max(20, Math.round(ACCOUNTS / 10));
/** A login that was cut off is tried again after a minute, one that was cut off twice after a quarter of an hour. */
const AFTER_A_LOST_LOGIN_MS = [60_000, 15 * 60_000];
const BOOK_EVERY_MS = 250;

test(`${ACCOUNTS} accounts, ${FAULTS} faults`, async () => {
  const fleet = await openFleet({ accounts: ACCOUNTS, seed: SEED, everySeconds: EVERY_SECONDS });
  const { book, people, places, postgres } = fleet;
  await fleet.import();
  const witness = await fleet.witness();
  const listener = await fleet.listen();
  await fleet.startAll();
  await waitForTruth(fleet, listener);
  tell('first histories', { logins: book.logins });

  witness.forget();
  const booking = bookEverySoOften(people);
  await carryOut(planOf(SEED, FAULTS, places.length, CLAIM_SECONDS), places);
  booking.stop();
  await waitForTruth(fleet, listener);
  const [left] = await waitFor('no event to be left', async () => {
    await turn(500);
    const rows = await postgres.query(
      `SELECT count(*)::int AS count FROM heat2mqtt.document WHERE name = 'published' AND json_array_length(json -> 'events') > 0`,
    );
    return rows[0]?.count === 0 ? rows : null;
  });
  const events = await witness.events();

  tell('fleet', {
    ...(await witness.claims()),
    refreshes: book.refreshes,
    logins: book.logins,
    // An answer that is on its way, or not yet kept, when its process is hurt, costs its session.
    'sessions lost': book.lost,
    events: events.length,
    'longest left out, s': witness.longestLeftOut(),
  });
  expect(places.map(({ ownEnds }) => ownEnds())).toEqual([0, 0, 0]);
  expect(left).toEqual({ count: 0 });
  expect(book.complaints()).toEqual([]);
  expect(book.logins).toBeLessThanOrEqual(ACCOUNTS + book.lost);
  expect(people.flatMap((one) => tooManyLogins(fleet, one))).toEqual([]);
  expect(await witness.complaints()).toEqual([]);
  expect(events.filter((one) => !listener.hasHeard(one))).toEqual([]);
  expect(events.length).toBeGreaterThan(ACCOUNTS / 2);
  expect(listener.bridge).not.toContain('offline');
  const secrets = [...MARKS, ...book.tokens.slice(-50)];
  const dump = await postgres.dump();
  expect(leaksIn(dump, secrets)).toEqual([]);
  expect(leaksIn(fleet.said(), secrets)).toEqual([]);
  const numbers = new Set(dump.match(/\b\d{7}\b/g));
  expect(people.filter(({ property }) => numbers.has(String(property)))).toEqual([]);
  expect(fleet.said()).not.toContain('failed unexpectedly');
});

/** Passwords that were sent again sooner than the budget allows after a login of which no process has kept the answer. */
function tooManyLogins({ book }: Fleet, { id, username }: Resident): string[] {
  let lost = 0;
  return book.loginsOf(username).flatMap(({ at, isRepeated }, n, logins) => {
    lost = isRepeated ? lost + 1 : 0;
    const least = AFTER_A_LOST_LOGIN_MS[Math.min(lost, AFTER_A_LOST_LOGIN_MS.length) - 1] ?? 0;
    const before = logins[n - 1]?.at ?? 0;
    return at - before < least ? [`${id}: logins at ${before} and ${at}`] : [];
  });
}

/** In any form, and as columns of bytes hold them. */
function leaksIn(text: string, secrets: readonly string[]): string[] {
  const forms = (secret: string) => [...formsOf(secret), Buffer.from(secret, 'utf8').toString('hex')];
  return secrets.filter((secret) => forms(secret).some((form) => text.includes(form)));
}

/** The provider books a day of one flat after the other. */
function bookEverySoOften(people: readonly Resident[]): { stop(): void } {
  let next = 0;
  const perStep = Math.ceil(people.length / 200);
  const timer = setInterval(() => {
    for (let n = 0; n < perStep; n += 1) people[next++ % people.length]?.bookOneMore();
  }, BOOK_EVERY_MS);
  return { stop: () => clearInterval(timer) };
}

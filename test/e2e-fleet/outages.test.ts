// What all processes share goes away and comes back: the database, the broker, and in the end the processes themselves.
import { expect, test } from 'vitest';
import { turn, waitFor } from '../support/waitFor.ts';
import { openFleet } from './fleet.ts';
import { waitForTruth } from './truth.ts';

const ACCOUNTS = 30;
const { HEAT2MQTT_FLEET_OUTAGE_SECONDS = '15', HEAT2MQTT_SEED = '1' } = process.env;
const OUTAGE_MS = Number(HEAT2MQTT_FLEET_OUTAGE_SECONDS) * 1_000;
const OFFLINE_WITHIN_MS = 40_000;

test('what all processes share goes away and comes back', async () => {
  const fleet = await openFleet({
    accounts: ACCOUNTS,
    seed: Number(HEAT2MQTT_SEED),
    everySeconds: 15,
    isLasting: true,
  });
  const { postgres, broker, people, places, book } = fleet;
  await fleet.import();
  const witness = await fleet.witness();
  const listener = await fleet.listen();
  await fleet.startAll();
  await waitForTruth(fleet, listener);
  // Whatever the clock of a machine says, the next poll comes by the time of the database.
  expect(
    await postgres.query(`SELECT id FROM heat2mqtt.account WHERE due_at > now() + interval '32 s'`),
  ).toEqual([]);
  witness.forget();
  const before = book.logins;
  const bookOneMore = () => {
    for (const one of people) one.bookOneMore();
  };

  // PostgreSQL is stopped, then crashes: nothing is lost, and all goes on by itself.
  for (const [signal, ms] of [
    ['SIGINT', OUTAGE_MS],
    ['SIGQUIT', 3_000],
  ] as const) {
    await postgres.pause(signal);
    bookOneMore();
    await turn(ms);
    await postgres.resume();
    await waitForTruth(fleet, listener);
  }
  // So it is with the broker.
  await broker.pause();
  bookOneMore();
  await turn(3_000);
  await broker.restart();
  await waitForTruth(fleet, listener);

  // Every flat is available while one process lives, for longer than the broker waits before it tells that one is gone.
  const state = () => listener.newest.get('heat2mqtt/bridge/state');
  const [first, second, third] = places;
  await waitFor('the bridge to be online', () => state() === 'online');
  const told = listener.bridge.length;
  await first?.kill();
  expect(await second?.endGently()).toBe(0);
  await turn(OFFLINE_WITHIN_MS);
  expect(listener.bridge.slice(told)).not.toContain('offline');
  expect(places.map(({ ownEnds }) => ownEnds())).toEqual([0, 0, 0]);

  expect(await witness.complaints()).toEqual([]);

  // When all are gone, none is.
  await third?.kill();
  await waitFor('the flats to be unavailable', () => state() === 'offline', { timeoutMs: OFFLINE_WITHIN_MS });
  bookOneMore();
  await second?.start();
  await waitFor('the flats to be available again', () => state() === 'online');
  await waitForTruth(fleet, listener);
  const events = await witness.events();
  await waitFor('every event', () => events.every(listener.hasHeard), {
    diagnose: () => ({ missed: events.filter((event) => !listener.hasHeard(event)) }),
  });
  expect(book.complaints()).toEqual([]);
  expect(book.logins).toBeLessThanOrEqual(before + book.lost);
  expect(await second?.endGently()).toBe(0);
  await waitFor('whoever leaves last to say so', () => state() === 'offline', { timeoutMs: 5_000 });
});

// What all processes share goes away and comes back: the database, the broker, and in the end the processes themselves.
import { expect, test } from 'vitest';
import { turn, waitFor } from '../support/waitFor.ts';
import { openFleet } from './fleet.ts';
import { waitForTruth } from './truth.ts';

const ACCOUNTS = 30;
const { HEAT2MQTT_FLEET_OUTAGE_SECONDS = '15', HEAT2MQTT_SEED = '1' } = process.env;
const OUTAGE_MS = Number(HEAT2MQTT_FLEET_OUTAGE_SECONDS) * 1_000;
const OFFLINE_WITHIN_MS = 40_000;

const open = async () => {
  const fleet = await openFleet({
    accounts: ACCOUNTS,
    seed: Number(HEAT2MQTT_SEED),
    everySeconds: 15,
    isLasting: true,
  });
  await fleet.import();
  const witness = await fleet.witness();
  const listener = await fleet.listen();
  await fleet.startAll();
  await waitForTruth(fleet, listener);
  return { ...fleet, fleet, witness, listener };
};

test('PostgreSQL is stopped, crashes, and the broker is away: nothing is lost, and all goes on by itself', async () => {
  const { fleet, postgres, broker, people, places, listener, witness, book } = await open();
  const before = book.logins;
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    await postgres.pause(signal);
    for (const one of people) one.bookOneMore();
    await turn(OUTAGE_MS);
    await postgres.resume();
    await waitForTruth(fleet, listener);
  }
  await broker.pause();
  for (const one of people) one.bookOneMore();
  await turn(OUTAGE_MS);
  await broker.restart();
  await waitForTruth(fleet, listener);
  const events = await witness.events();
  await waitFor('every event', () => events.every(listener.hasHeard));
  expect(places.map(({ ownEnds }) => ownEnds())).toEqual([0, 0, 0]);
  expect(await witness.complaints()).toEqual([]);
  expect(book.complaints()).toEqual([]);
  expect(book.logins).toBeLessThanOrEqual(before + book.lost);
});

test('every flat is available while one process lives, and not when all are gone', async () => {
  const { fleet, places, listener, people } = await open();
  const state = () => listener.newest.get('heat2mqtt/bridge/state');
  const [first, second, third] = places;
  await first?.kill();
  await second?.endGently();
  // Longer than a broker waits before it tells that the one who held the topic is gone.
  await turn(OFFLINE_WITHIN_MS);
  expect(state()).toBe('online');
  expect(listener.bridge).not.toContain('offline');

  await third?.kill();
  await waitFor('the flats to be unavailable', () => state() === 'offline', { timeoutMs: OFFLINE_WITHIN_MS });
  for (const one of people) one.bookOneMore();
  await second?.start();
  await waitFor('the flats to be available again', () => state() === 'online');
  await waitForTruth(fleet, listener);
  expect(await second?.endGently()).toBe(0);
  await waitFor('whoever leaves last to say so', () => state() === 'offline', { timeoutMs: 5_000 });
});

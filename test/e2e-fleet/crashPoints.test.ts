// A process that dies before and after each statement by which a turn writes, on the built program: no event is lost, none comes again
// that was noted as told, no topic is left behind, and nobody logs in but where tokens died with the process.
import { expect, test } from 'vitest';
import { FAULTS } from '../support/faults.ts';
import { booked, EVENT, home, METER, PROPERTY, person, reading, STATE } from '../support/homes.ts';
import { waitFor } from '../support/waitFor.ts';
import { type Moment, openDeadlyWire } from './deadlyWire.ts';
import { isRead, openFlat, rests } from './flat.ts';

const DAY_MS = 86_400_000;
const dayBefore = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);
/** All statements by which a claim writes begin with its row. */
const isOfTurn = (text: string) => /held AS|DELETE FROM heat2mqtt\.account/.test(text);
const TOKENS = '"name":"tokens"';
/** More than any turn has. */
const MOST_STATEMENTS = 12;

async function openCrashing() {
  let daysAgo = 60;
  const events = Array.from({ length: 20 }, () => reading(dayBefore(daysAgo--), 10, 2));
  const flat = await openFlat(person('me', [home(METER, { events }, PROPERTY)]));
  const { postgres, simulator, stack } = flat;
  simulator.switches.token.rotation = true;
  const wire = stack.use(await openDeadlyWire(postgres.port, isOfTurn));
  const fleet = { ...flat.fleet, database_url: postgres.urlAs('heat2mqtt', wire.port) };
  const usage = { history_since: dayBefore(70), reading_closes: 'same_day', late_after_hours: 8784 };
  const configure = (over = {}) => flat.configure({ fleet, usage, ...over });
  await configure();
  // It makes the tables.
  await flat.command('accounts', 'list');
  const probe = await flat.listen();
  const { passwordGrants } = simulator.counters;

  return {
    ...flat,
    probe,
    configure,
    /** Books one more day, and gives it. */
    book(): string {
      const day = dayBefore(daysAgo--);
      events.push(reading(day, 10, 2));
      return day;
    },
    /** Runs a process until it dies at that statement, or until all is at rest. Tells what it died of; `null`: it lived. */
    async die(at: number, moment: Moment, isOver: () => Promise<boolean>) {
      const process = flat.process();
      let isDead = false;
      wire.set({
        at,
        moment,
        kill: () => {
          isDead = true;
          void process.end('SIGKILL');
        },
      });
      await waitFor('the end of the process, or of its turn', async () => isDead || (await isOver()));
      const { last } = wire;
      wire.set(null);
      await process.end(isDead ? 'SIGKILL' : 'SIGTERM');
      // Its claim runs out.
      await postgres.query(`UPDATE heat2mqtt.account SET claimed_until = 'epoch'`);
      return isDead ? { isOfTokens: last.includes(TOKENS) } : null;
    },
    /** Another process goes on. */
    async recover(isOver: () => Promise<boolean>): Promise<void> {
      const process = flat.process();
      await process.says('works for the fleet');
      await waitFor('the turn to be done', isOver, { diagnose: () => process.output.slice(-2_000) });
      expect((await process.end('SIGTERM')).code).toBe(0);
    },
    logins: () => passwordGrants.asked,
    /** The next poll has to refresh. */
    rejectToken(): void {
      simulator.switches.clearFaults();
      simulator.switches.fault('/api/v1', FAULTS.unauthorized, { times: 1 });
    },
    async atRest(): Promise<boolean> {
      const row = await flat.row('home');
      return rests(row) && isRead(row);
    },
    /** What the database and the broker have is what the provider has told. */
    async expectTruth(): Promise<void> {
      const { kwh } = booked(simulator);
      expect(await flat.days()).toBe(simulator.truth(PROPERTY).size);
      expect(JSON.parse(String(probe.last(STATE)?.payload))).toMatchObject({ energy_total: kwh });
      const [left] = await postgres.query(
        `SELECT FROM heat2mqtt.document WHERE name = 'published' AND json_array_length(json -> 'events') > 0`,
      );
      expect(left).toBeUndefined();
    },
    /** Topics that a subscriber finds who comes now. */
    async retained(): Promise<string[]> {
      const late = await flat.listen();
      const isOfAccount = (topic: string) => /\/(meter|account)\/|_(meter|account)_/.test(topic);
      await late.publish('proof/end', 'of what is retained');
      await waitFor('what is retained', () => late.last('proof/end'));
      return late.heard
        .filter(({ retained, topic }) => retained && isOfAccount(topic))
        .map(({ topic }) => topic)
        .sort();
    },
  };
}

type Crashing = Awaited<ReturnType<typeof openCrashing>>;

/** Each statement of a turn, before and after; resolves to how many there are. */
async function walk(each: (at: number, moment: Moment) => Promise<boolean>): Promise<number> {
  for (let at = 1; at <= MOST_STATEMENTS; at += 1)
    for (const moment of ['before', 'after'] as const) if (!(await each(at, moment))) return at - 1;
  throw new Error('a turn without an end');
}

/** The account is there as if it had just been imported. */
async function importAnew({ postgres, import: importLogins }: Crashing): Promise<void> {
  await postgres.query('DELETE FROM heat2mqtt.account');
  await importLogins('home');
}

test('a first history: it is read in the end, with one login but where one was under way', async () => {
  const crashing = await openCrashing();
  const { die, recover, atRest, logins, postgres } = crashing;
  const statements = await walk(async (at, moment) => {
    await importAnew(crashing);
    const before = logins();
    const death = await die(at, moment, atRest);
    if (death === null) return false;
    // A login that was cut off would be tried again after a minute.
    await postgres.query('UPDATE heat2mqtt.account SET wanted = wanted + 1, due_at = now()');
    await recover(atRest);
    await crashing.expectTruth();
    expect(logins() - before, `${moment} ${at}`).toBe(death.isOfTokens && moment === 'before' ? 2 : 1);
    return true;
  });
  expect(statements).toBeGreaterThan(3);
});

test('a first history, and the account is removed before it goes on: no topic is left behind', async () => {
  const crashing = await openCrashing();
  const { die, recover, atRest, command, postgres } = crashing;
  const isGone = async () => (await postgres.query('SELECT FROM heat2mqtt.account')).length === 0;
  await walk(async (at, moment) => {
    await importAnew(crashing);
    const death = await die(at, moment, atRest);
    await command('accounts', 'remove', 'home', '--yes');
    await recover(isGone);
    expect(await crashing.retained(), `${moment} ${at}`).toEqual([]);
    return death !== null;
  });
});

test('a refresh and a new day: its event comes, and comes again only where its being taken was not noted', async () => {
  const crashing = await openCrashing();
  const { die, recover, atRest, logins, postgres, book, probe, rejectToken } = crashing;
  await crashing.import('home');
  await recover(atRest);
  const topics = await crashing.retained();
  const repeated: string[] = [];
  const statements = await walk(async (at, moment) => {
    const before = logins();
    const day = book();
    await postgres.query('UPDATE heat2mqtt.account SET due_at = now(), poll_at = now()');
    rejectToken();
    const death = await die(at, moment, atRest);
    if (death !== null) {
      rejectToken();
      await recover(atRest);
    }
    await crashing.expectTruth();
    const told = probe.all(EVENT).filter((event) => event.day === day);
    expect(told.length, `${moment} ${at}`).toBeGreaterThan(0);
    if (told.length > 1) repeated.push(`${moment} ${at}`);
    const isLost = death?.isOfTokens && moment === 'before';
    expect(logins() - before, `${moment} ${at}`).toBe(isLost ? 1 : 0);
    return death !== null;
  });
  // Between the broker's word and the last statement, which notes it.
  expect(repeated).toEqual([`before ${statements}`]);
  expect(await crashing.retained()).toEqual(topics);
});

test('a removal: no topic is left behind', async () => {
  const crashing = await openCrashing();
  const { die, recover, atRest, command, postgres } = crashing;
  const isGone = async () => (await postgres.query('SELECT FROM heat2mqtt.account')).length === 0;
  const statements = await walk(async (at, moment) => {
    await crashing.import('home');
    await recover(atRest);
    await command('accounts', 'remove', 'home', '--yes');
    const death = await die(at, moment, isGone);
    await recover(isGone);
    expect(await crashing.retained(), `${moment} ${at}`).toEqual([]);
    return death !== null;
  });
  expect(statements).toBe(1);
});

test('what a process has published that died before it could note that is published again', async () => {
  const crashing = await openCrashing();
  const { die, recover, atRest, postgres, probe } = crashing;
  await crashing.import('home');
  await recover(atRest);
  const device = `homeassistant/device/heat2mqtt_meter_${METER}/config`;
  const before = probe.last(device)?.payload;
  await crashing.configure({ meters: { [METER]: { name: 'Flat 3' } } });
  await postgres.query('UPDATE heat2mqtt.account SET due_at = now(), poll_at = now()');
  // The end of the turn.
  expect(await die(1, 'before', atRest)).not.toBeNull();
  expect(probe.last(device)?.payload).toContain('Flat 3');
  await crashing.configure();
  await recover(atRest);
  expect(probe.last(device)?.payload).toBe(before);
});

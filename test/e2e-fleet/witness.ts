// What the database itself sees: triggers of the test note who writes under which claim, and what was to be published.
import type { Postgres } from './postgres.ts';

/** A process has its name in `application_name`, so that a write can be told from that of another. */
const TRIGGERS = `
CREATE SCHEMA proof;
CREATE TABLE proof.process (id uuid PRIMARY KEY, name text NOT NULL);
CREATE TABLE proof.claim (account text, fence bigint, process uuid, at timestamptz DEFAULT clock_timestamp(), PRIMARY KEY (account, fence));
CREATE TABLE proof.event (topic text, payload text, UNIQUE (topic, payload));
CREATE TABLE proof.wrong (what text, account text, at timestamptz DEFAULT clock_timestamp());

CREATE FUNCTION proof.on_process() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  INSERT INTO proof.process VALUES (NEW.id, current_setting('application_name')) ON CONFLICT DO NOTHING;
  RETURN NEW;
END $$;
CREATE TRIGGER proof AFTER INSERT ON heat2mqtt.process FOR EACH ROW EXECUTE FUNCTION proof.on_process();

CREATE FUNCTION proof.on_account() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  IF NEW.fence < OLD.fence THEN INSERT INTO proof.wrong VALUES ('the fence fell', NEW.id); END IF;
  IF NEW.fence > OLD.fence AND NEW.claimed_by IS NOT NULL THEN
    INSERT INTO proof.claim VALUES (NEW.id, NEW.fence, NEW.claimed_by);
    IF OLD.claimed_until > now() THEN INSERT INTO proof.wrong VALUES ('claimed while it was another''s', NEW.id); END IF;
  ELSIF OLD.claimed_by IS NULL AND NEW.claimed_by IS NOT NULL THEN
    INSERT INTO proof.wrong VALUES ('claimed without a new fence', NEW.id);
  END IF;
  IF (NEW.last_poll_at IS DISTINCT FROM OLD.last_poll_at OR (NEW.claimed_by IS NULL AND OLD.claimed_by IS NOT NULL))
    AND NOT EXISTS (SELECT FROM proof.process WHERE id = OLD.claimed_by AND name = current_setting('application_name')) THEN
    INSERT INTO proof.wrong VALUES ('a late write to the account', NEW.id);
  END IF;
  RETURN NEW;
END $$;

CREATE FUNCTION proof.is_of_holder(account text) RETURNS boolean LANGUAGE sql SECURITY DEFINER AS $$
  -- Or it is given back by the same statement, of which the trigger above knows whether it may.
  SELECT EXISTS (SELECT FROM heat2mqtt.account a LEFT JOIN proof.process p ON p.id = a.claimed_by
    WHERE a.id = account AND (p.name = current_setting('application_name')
      OR (a.claimed_by IS NULL AND a.xmin = pg_current_xact_id()::xid)))
$$;
CREATE TRIGGER proof AFTER UPDATE ON heat2mqtt.account FOR EACH ROW EXECUTE FUNCTION proof.on_account();

CREATE FUNCTION proof.on_write() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  IF NOT proof.is_of_holder(NEW.account) THEN
    INSERT INTO proof.wrong VALUES ('a late write to ' || TG_TABLE_NAME, NEW.account);
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER proof AFTER INSERT OR UPDATE ON heat2mqtt.document FOR EACH ROW EXECUTE FUNCTION proof.on_write();
CREATE TRIGGER proof AFTER INSERT OR UPDATE ON heat2mqtt.series FOR EACH ROW EXECUTE FUNCTION proof.on_write();

CREATE FUNCTION proof.on_reading() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE owner text;
BEGIN
  SELECT account INTO owner FROM heat2mqtt.series WHERE id = NEW.series;
  IF NOT proof.is_of_holder(owner) THEN INSERT INTO proof.wrong VALUES ('a late write to reading', owner); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER proof AFTER INSERT OR UPDATE ON heat2mqtt.reading FOR EACH ROW EXECUTE FUNCTION proof.on_reading();

CREATE FUNCTION proof.on_published() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  INSERT INTO proof.event SELECT e.topic, e.payload FROM json_to_recordset(NEW.json -> 'events') AS e(topic text, payload text)
  ON CONFLICT DO NOTHING;
  RETURN NEW;
END $$;
CREATE TRIGGER proof_events AFTER INSERT OR UPDATE ON heat2mqtt.document FOR EACH ROW WHEN (NEW.name = 'published')
  EXECUTE FUNCTION proof.on_published();
`;

const EVERY_MS = 1_000;

/** To be called when the tables are there, and no process is yet. */
export async function openWitness(postgres: Postgres, claimSeconds: number) {
  await postgres.run(TRIGGERS);
  const leftOut = new Map<string, number>();
  let isOver = false;

  /** Accounts that are due and not claimed, with the seconds since they might have been taken. */
  async function look(): Promise<void> {
    const rows = await postgres.query<{ id: string; late: number }>(
      `SELECT id, late FROM (SELECT a.id, extract(epoch FROM clock_timestamp()
        - greatest(a.due_at, a.claimed_until, a.retry_after, pg_postmaster_start_time()))::float8 AS late
      FROM heat2mqtt.account a
      WHERE NOT a.paused AND a.claimed_until <= clock_timestamp()) waiting WHERE late > 0`,
    );
    for (const { id, late } of rows) leftOut.set(id, Math.max(late, leftOut.get(id) ?? 0));
  }
  const looking = (async () => {
    while (!isOver) {
      // PostgreSQL may be stopped by the test.
      if (postgres.isRunning) await look().catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
  })();

  return {
    /** From now on it counts who is left out. */
    forget: () => leftOut.clear(),
    /** The longest that an account was due and not claimed, in seconds. */
    longestLeftOut: () => Math.max(0, ...leftOut.values()),
    /** What must not have happened, in words. */
    async complaints(): Promise<string[]> {
      const wrong = await postgres.query<{ what: string; account: string; at: Date }>(
        'SELECT * FROM proof.wrong',
      );
      const late = [...leftOut].filter(([, seconds]) => seconds > 2 * claimSeconds);
      return [
        ...wrong.map(({ what, account, at }) => `${account}: ${what}, at ${at.toISOString()}`),
        ...late.map(([id, seconds]) => `${id}: left out for ${seconds.toFixed(0)} s`),
      ];
    },
    /** Every event that was committed, as topic and payload. */
    events: () =>
      postgres.query<{ topic: string; payload: string }>('SELECT topic, payload FROM proof.event'),
    /** Of all claims, those of an account that had been claimed before by a process that is another. */
    async claims(): Promise<{ total: number; takenOver: number }> {
      const [row] = await postgres.query<{ total: number; taken_over: number }>(
        `SELECT count(*)::int AS total, count(*) FILTER (WHERE process <> before)::int AS taken_over FROM
        (SELECT process, lag(process) OVER (PARTITION BY account ORDER BY fence) AS before FROM proof.claim) c`,
      );
      return { total: row?.total ?? 0, takenOver: row?.taken_over ?? 0 };
    },
    async stop(): Promise<void> {
      isOver = true;
      await looking;
    },
  };
}

// The tables and views of a fleet, who may do what with them, and whether a database has them.
import { EXIT, failure } from '../../foundation/failure.ts';
import { type Database, DatabaseTrouble } from './database.ts';

/** It is raised when processes of the version before cannot go on with the tables. Those before were never released. */
const VERSION = 5;

const TABLES = `
CREATE SCHEMA IF NOT EXISTS heat2mqtt;
CREATE SCHEMA IF NOT EXISTS heat2mqtt_views;
CREATE TABLE heat2mqtt.version (version int NOT NULL);
INSERT INTO heat2mqtt.version VALUES (${VERSION});
CREATE TABLE heat2mqtt.fleet (
  id boolean PRIMARY KEY DEFAULT true CHECK (id),
  mark_key bytea,
  installation text NOT NULL DEFAULT 'heat2mqtt_' || substr(md5(random()::text), 1, 8),
  paused_until timestamptz NOT NULL DEFAULT 'epoch',
  asked_at timestamptz NOT NULL DEFAULT 'epoch',
  replies json,
  keeper uuid,
  keeper_until timestamptz NOT NULL DEFAULT 'epoch'
);
INSERT INTO heat2mqtt.fleet DEFAULT VALUES;
CREATE TABLE heat2mqtt.process (
  id uuid PRIMARY KEY,
  number int NOT NULL UNIQUE,
  version text NOT NULL,
  started_at timestamptz NOT NULL DEFAULT now(),
  seen_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE heat2mqtt.account (
  id text COLLATE "C" PRIMARY KEY,
  login bytea NOT NULL,
  history_since date,
  paused boolean NOT NULL DEFAULT false,
  removed boolean NOT NULL DEFAULT false,
  repair boolean NOT NULL DEFAULT false,
  first_history boolean NOT NULL DEFAULT true,
  fence bigint NOT NULL DEFAULT 0,
  claimed_by uuid,
  claimed_until timestamptz NOT NULL DEFAULT 'epoch',
  due_at timestamptz NOT NULL DEFAULT now(),
  poll_at timestamptz NOT NULL DEFAULT now(),
  retry_after timestamptz NOT NULL DEFAULT 'epoch',
  wanted int NOT NULL DEFAULT 0,
  republish int NOT NULL DEFAULT 0,
  failures int NOT NULL DEFAULT 0,
  failing_since timestamptz,
  last_poll_at timestamptz,
  last_success_at timestamptz,
  last_error text,
  advice text,
  auth_state text,
  needs_user boolean NOT NULL DEFAULT false,
  requests_today int NOT NULL DEFAULT 0,
  logins_today int NOT NULL DEFAULT 0,
  counted_on date
) WITH (fillfactor = 60);
CREATE INDEX account_due ON heat2mqtt.account (first_history, due_at) WHERE NOT paused;
CREATE TABLE heat2mqtt.document (
  account text COLLATE "C" NOT NULL REFERENCES heat2mqtt.account ON DELETE CASCADE,
  name text NOT NULL,
  json json,
  sealed bytea,
  PRIMARY KEY (account, name)
) WITH (fillfactor = 70);
CREATE TABLE heat2mqtt.series (
  id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account text COLLATE "C" NOT NULL REFERENCES heat2mqtt.account ON DELETE CASCADE,
  mark text NOT NULL UNIQUE,
  name text NOT NULL UNIQUE,
  ledger json
) WITH (fillfactor = 70);
CREATE INDEX series_account ON heat2mqtt.series (account);
CREATE TABLE heat2mqtt.reading (
  series int NOT NULL REFERENCES heat2mqtt.series ON DELETE CASCADE,
  day date NOT NULL,
  energy bigint,
  cost bigint,
  revision int NOT NULL,
  received_at timestamptz NOT NULL,
  PRIMARY KEY (series, day)
);
`;

/**
 * Additions to tables of this version, in order. Processes from before go on beside it: nothing that they read or write has
 * changed, and PostgreSQL itself computes the columns that follow from a ledger, whoever has written it.
 */
const ADDITIONS = [
  `
ALTER TABLE heat2mqtt.account ADD COLUMN kept_by uuid;
ALTER TABLE heat2mqtt.fleet ADD COLUMN counted json, ADD COLUMN counted_at timestamptz NOT NULL DEFAULT 'epoch';
ALTER TABLE heat2mqtt.series
  ADD COLUMN block json,
  ADD COLUMN complete boolean GENERATED ALWAYS AS (coalesce(ledger ->> 'complete' = 'true', false)) STORED,
  ADD COLUMN reading_closes text GENERATED ALWAYS AS (ledger ->> 'readingCloses') STORED,
  ADD COLUMN currency text GENERATED ALWAYS AS (ledger ->> 'currency') STORED,
  ADD COLUMN meter_name text GENERATED ALWAYS AS (ledger ->> 'friendlyName') STORED;
CREATE INDEX series_complete ON heat2mqtt.series (account, name) WHERE complete;
`,
];

const VIEWS = `
CREATE OR REPLACE VIEW heat2mqtt_views.reading AS
  SELECT s.account, s.name AS meter, r.day, trim_scale(r.energy / 1e6) AS energy_kwh, trim_scale(r.cost / 1e6) AS cost,
    r.revision, r.received_at, s.currency, s.meter_name
  FROM heat2mqtt.reading r JOIN heat2mqtt.series s ON s.id = r.series;
CREATE OR REPLACE VIEW heat2mqtt_views.invoice AS
  SELECT d.account, i.id AS invoice, i.status,
    to_timestamp(i."startAt" / 1000.0) AS start_at, to_timestamp(i."endAt" / 1000.0) AS end_at,
    to_timestamp(i."dueAt" / 1000.0) AS due_at, trim_scale(i.total / 1e6) AS total, trim_scale(i.open / 1e6) AS open,
    (SELECT min(s.currency) FROM heat2mqtt.series s WHERE s.account = d.account) AS currency
  FROM heat2mqtt.document d,
    json_to_recordset(CASE WHEN json_typeof(d.json -> 'invoices') = 'array' THEN d.json -> 'invoices' ELSE '[]' END) AS
    i(id text, status text, "startAt" bigint, "endAt" bigint, "dueAt" bigint, total bigint, open bigint)
  WHERE d.name = 'extras';
CREATE OR REPLACE VIEW heat2mqtt_views.account_state AS
  SELECT a.id AS account, a.paused, a.removed, a.due_at, a.poll_at, a.last_poll_at, a.last_success_at, a.failures, a.failing_since,
    a.last_error, a.auth_state, a.claimed_until > now() AS claimed, p.number AS process,
    a.advice, a.needs_user, a.first_history, nullif(greatest(a.retry_after, now()), now()) AS retry_after
  FROM heat2mqtt.account a
  LEFT JOIN heat2mqtt.process p ON p.id = a.claimed_by AND a.claimed_until > now();
`;

/** The tables have so many of the additions; their first version had no column for it. */
const ADDED = `coalesce((to_jsonb(v) ->> 'additions')::int, 0)`;
/** Whoever waits for a lock of a whole table holds up all that come later: it is tried again instead. */
const LOCK_PATIENCE = '3s';

/** Creates what is missing, if this user may; and for the roles that processes and readers log in as, where they exist, their rights. */
const PREPARE = `
DO $$ DECLARE added int; BEGIN
  -- Another process may begin at this moment.
  PERFORM pg_advisory_xact_lock(1751474546);
  IF (CASE WHEN to_regnamespace('heat2mqtt') IS NULL THEN has_database_privilege(current_database(), 'CREATE')
    ELSE has_schema_privilege('heat2mqtt', 'CREATE') AND to_regclass('heat2mqtt.version') IS NULL END) THEN ${TABLES} END IF;
  IF has_schema_privilege(to_regnamespace('heat2mqtt_views'), 'CREATE') IS NOT TRUE THEN RETURN; END IF;
  SELECT ${ADDED} INTO added FROM heat2mqtt.version v WHERE version = ${VERSION};
  IF added < ${ADDITIONS.length} THEN
    PERFORM set_config('lock_timeout', '${LOCK_PATIENCE}', true);
    ${ADDITIONS.map((text, at) => `IF added <= ${at} THEN ${text} END IF;`).join('\n')}
    ${VIEWS}
    ALTER TABLE heat2mqtt.version ADD COLUMN IF NOT EXISTS additions int;
    UPDATE heat2mqtt.version SET additions = ${ADDITIONS.length};
  END IF;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'heat2mqtt_worker') THEN
    GRANT USAGE ON SCHEMA heat2mqtt TO heat2mqtt_worker;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA heat2mqtt TO heat2mqtt_worker;
  END IF;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'heat2mqtt_reader') THEN
    GRANT USAGE ON SCHEMA heat2mqtt_views TO heat2mqtt_reader;
    GRANT SELECT ON ALL TABLES IN SCHEMA heat2mqtt_views TO heat2mqtt_reader;
  END IF;
END $$`;

/** Rejects with a Failure. */
export async function prepareTables(database: Database): Promise<void> {
  await database.query(PREPARE);
  const present = await presentTables(database);
  if (present === null)
    throw otherTables(
      'The tables of the fleet are missing, and the user of fleet.database_url may not make them.',
      'Run `heat2mqtt accounts list` once with fleet.database_url of the user who owns the database.',
    );
  const { version, additions } = present;
  if (version > VERSION)
    throw otherTables(
      `The database is of a newer heat2mqtt: version ${version} of its tables, known is ${VERSION}.`,
      'Use that version of heat2mqtt, or a backup from before it.',
    );
  if (version < VERSION)
    throw otherTables(
      'The database has the tables of a heat2mqtt that was never released: begin with an empty database.',
      'Create another one, name it in fleet.database_url, and import the accounts again.',
    );
  if (additions < ADDITIONS.length)
    throw otherTables(
      'The tables of the fleet are those of an earlier heat2mqtt, and the user of fleet.database_url may not change them.',
      'Run `heat2mqtt accounts list` once with fleet.database_url of the user who owns the database: processes from before go on.',
    );
}

const otherTables = (message: string, hint: string) =>
  failure('other_tables', message, { exit: EXIT.config, retry: 'never', hint });

// SQLSTATE: no such schema, no such table, no right to look.
const MISSING = ['3F000', '42P01', '42501'];

interface Tables {
  readonly version: number;
  readonly additions: number;
}

/** `null`: there are no tables, or none that this user may see. */
async function presentTables(database: Database): Promise<Tables | null> {
  try {
    const [tables] = await database.query<Tables>(
      `SELECT version, ${ADDED} AS additions FROM heat2mqtt.version v`,
    );
    return tables ?? { version: 0, additions: 0 };
  } catch (err) {
    if (err instanceof DatabaseTrouble && MISSING.includes(err.reason)) return null;
    throw err;
  }
}

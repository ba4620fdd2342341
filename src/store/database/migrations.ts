// The tables of a fleet, and how each version of them follows from the one before. Forward only.
import { EXIT, Failure } from '../../foundation/failure.ts';
import { type Database, DatabaseTrouble, type Statements } from './database.ts';

/** What worker processes and readers may log in as; whoever owns the schema creates and migrates it. */
const WORKER = 'heat2mqtt_worker';
const READER = 'heat2mqtt_reader';
/** Of the engine that claims jobs; it migrates its own. */
export const ENGINE_SCHEMA = 'heat2mqtt_engine';

const MIGRATIONS: readonly string[] = [
  `
CREATE TABLE heat2mqtt.fleet (
  id boolean PRIMARY KEY DEFAULT true CHECK (id),
  key_check bytea,
  installation text NOT NULL DEFAULT 'heat2mqtt_' || substr(md5(random()::text), 1, 8),
  budget_at timestamptz NOT NULL DEFAULT 'epoch',
  paused_until timestamptz NOT NULL DEFAULT 'epoch',
  asked_at timestamptz NOT NULL DEFAULT 'epoch',
  told boolean NOT NULL DEFAULT false,
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
  id text PRIMARY KEY,
  login bytea NOT NULL,
  paused boolean NOT NULL DEFAULT false,
  removed boolean NOT NULL DEFAULT false,
  fence bigint NOT NULL DEFAULT 0,
  claimed_by uuid,
  claimed_until timestamptz NOT NULL DEFAULT 'epoch',
  due_at timestamptz NOT NULL DEFAULT now(),
  poll_at timestamptz NOT NULL DEFAULT now(),
  wanted int NOT NULL DEFAULT 0,
  answered int NOT NULL DEFAULT 0,
  anew boolean NOT NULL DEFAULT false,
  failures int NOT NULL DEFAULT 0,
  failing_since timestamptz,
  last_poll_at timestamptz,
  last_success_at timestamptz,
  last_error text,
  auth_state text,
  requests_today int NOT NULL DEFAULT 0,
  logins_today int NOT NULL DEFAULT 0,
  counted_on date,
  invoices jsonb
) WITH (fillfactor = 70);
CREATE TABLE heat2mqtt.document (
  account text NOT NULL REFERENCES heat2mqtt.account ON DELETE CASCADE,
  mark text NOT NULL,
  sealed bytea NOT NULL,
  PRIMARY KEY (account, mark)
) WITH (fillfactor = 80);
CREATE TABLE heat2mqtt.shared_document (name text PRIMARY KEY, json jsonb NOT NULL);
CREATE TABLE heat2mqtt.series (
  id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account text NOT NULL REFERENCES heat2mqtt.account ON DELETE CASCADE,
  mark text NOT NULL UNIQUE,
  name text NOT NULL UNIQUE,
  reading_closes text
);
CREATE INDEX ON heat2mqtt.series (account);
CREATE TABLE heat2mqtt.reading (
  series int NOT NULL REFERENCES heat2mqtt.series ON DELETE CASCADE,
  day date NOT NULL,
  energy bigint,
  cost bigint,
  revision int NOT NULL,
  received_at timestamptz NOT NULL,
  PRIMARY KEY (series, day)
);
CREATE TABLE heat2mqtt.outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account text NOT NULL REFERENCES heat2mqtt.account ON DELETE CASCADE,
  topic text NOT NULL,
  payload text NOT NULL,
  retain boolean NOT NULL
);
CREATE INDEX ON heat2mqtt.outbox (account);
CREATE INDEX ON heat2mqtt.account (due_at);

CREATE VIEW heat2mqtt_views.reading AS
  SELECT s.account, s.name AS meter, r.day, trim_scale(r.energy / 1e6) AS energy_kwh, trim_scale(r.cost / 1e6) AS cost, r.revision, r.received_at
  FROM heat2mqtt.reading r JOIN heat2mqtt.series s ON s.id = r.series;
CREATE VIEW heat2mqtt_views.invoice AS
  SELECT a.id AS account, i.id AS invoice, i.status,
    to_timestamp(i."startAt" / 1000.0) AS start_at, to_timestamp(i."endAt" / 1000.0) AS end_at,
    to_timestamp(i."dueAt" / 1000.0) AS due_at, trim_scale(i.total / 1e6) AS total, trim_scale(i.open / 1e6) AS open
  FROM heat2mqtt.account a, jsonb_to_recordset(a.invoices) AS
    i(id text, status text, "startAt" bigint, "endAt" bigint, "dueAt" bigint, total bigint, open bigint);
CREATE VIEW heat2mqtt_views.account_state AS
  SELECT a.id AS account, a.paused, a.removed, a.due_at, a.poll_at, a.last_poll_at, a.last_success_at, a.failures, a.failing_since,
    a.last_error, a.auth_state, a.claimed_until > now() AS claimed, p.number AS process
  FROM heat2mqtt.account a
  LEFT JOIN heat2mqtt.process p ON p.id = a.claimed_by AND a.claimed_until > now();
`,
];

class DatabaseNewer extends Failure {
  readonly code = 'database_newer';
  readonly exitCode = EXIT.config;

  constructor(found: number) {
    super(
      `The database is of a newer heat2mqtt: version ${found} of its tables, known are ${MIGRATIONS.length}.`,
      {
        retry: 'never',
        hint: 'Use that version of heat2mqtt, or a backup from before it.',
      },
    );
  }
}

class DatabaseOlder extends Failure {
  readonly code = 'database_older';
  readonly exitCode = EXIT.config;

  constructor() {
    super(
      'The tables of the fleet are missing or older than this heat2mqtt, and this user may not change them.',
      {
        retry: 'never',
        hint: 'Run `heat2mqtt accounts list` once with fleet.database_url of the user who owns the database.',
      },
    );
  }
}

/** Brings the tables up to this version. Resolves to whether this user owns them. Rejects with a Failure. */
export async function migrate(database: Database): Promise<boolean> {
  return database.transaction(async (sql) => {
    const [right] = await sql.query<{ may: boolean }>(
      `SELECT CASE WHEN to_regnamespace('heat2mqtt') IS NULL THEN has_database_privilege(current_database(), 'CREATE')
        ELSE has_schema_privilege('heat2mqtt', 'CREATE') END AS may`,
    );
    const mayChange = right?.may === true;
    if (mayChange) await prepare(sql);
    const [known] = await sql
      .query<{ version: number }>('SELECT version FROM heat2mqtt.version')
      .catch((err) => {
        throw err instanceof DatabaseTrouble && MISSING.includes(err.reason) ? new DatabaseOlder() : err;
      });
    const version = known?.version ?? 0;
    if (version > MIGRATIONS.length) throw new DatabaseNewer(version);
    if (version < MIGRATIONS.length && !mayChange) throw new DatabaseOlder();
    for (const step of MIGRATIONS.slice(version)) await sql.query(step);
    if (version < MIGRATIONS.length)
      await sql.query('UPDATE heat2mqtt.version SET version = $1', [MIGRATIONS.length]);
    return mayChange;
  });
}

// SQLSTATE: no such schema, no such table, no right to look.
const MISSING = ['3F000', '42P01', '42501'];
// One process at a time; the others wait, and find it done.
const MIGRATION_LOCK = 4_832_001;

async function prepare(sql: Statements): Promise<void> {
  await sql.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
  await sql.query('CREATE SCHEMA IF NOT EXISTS heat2mqtt');
  await sql.query('CREATE SCHEMA IF NOT EXISTS heat2mqtt_views');
  await sql.query('CREATE TABLE IF NOT EXISTS heat2mqtt.version (version int NOT NULL)');
  await sql.query('INSERT INTO heat2mqtt.version SELECT 0 WHERE NOT EXISTS (SELECT FROM heat2mqtt.version)');
}

/** The least that workers and readers need, for those roles that exist. To be called by the owner. */
export async function grantRights(database: Database): Promise<void> {
  const roles = await database.query<{ rolname: string }>(
    'SELECT rolname FROM pg_roles WHERE rolname = ANY($1)',
    [[WORKER, READER]],
  );
  const statements: Readonly<Record<string, readonly string[]>> = {
    [WORKER]: ['heat2mqtt', ENGINE_SCHEMA].flatMap((schema) => [
      `GRANT USAGE ON SCHEMA ${schema} TO ${WORKER}`,
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${WORKER}`,
      `GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${schema} TO ${WORKER}`,
    ]),
    [READER]: [
      `GRANT USAGE ON SCHEMA heat2mqtt_views TO ${READER}`,
      `GRANT SELECT ON ALL TABLES IN SCHEMA heat2mqtt_views TO ${READER}`,
    ],
  };
  for (const { rolname } of roles) for (const one of statements[rolname] ?? []) await database.query(one);
}

// What earlier versions have left behind, a state directory and retained topics, is taken over: totals, ids, session. How the fixtures
// were made: scripts/upgrade-fixture.sh.
import { once } from 'node:events';
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { readRetainedHistory } from '../../src/domain/recovery.ts';
import { documentIn } from '../../src/store/documentText.ts';
import { pathsBelow } from '../../src/store/privateFiles.ts';
import { ROOT } from '../support/sources.ts';
import { openStack } from '../support/stack.ts';
import { HOUR_MS, openStory, type Story } from '../support/story.ts';
import { typed } from '../support/typed.ts';

const FIXTURES = `${ROOT}test/fixtures/upgrade/`;
// The tokens in the fixtures are those of this issuer.
const PORT = 20_911;
const ADDRESS = `http://127.0.0.1:${PORT}`;
const ISSUER = `${ADDRESS}/auth/realms/energy`;

interface Kept {
  readonly commit: string;
  readonly keptAt: string;
  readonly retained: Readonly<Record<string, string>>;
}

/** An issuer that renews a session and lets nobody in, beside a provider that has no time. */
async function serveProvider({ stack }: Story) {
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', ADDRESS);
    const answer = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (pathname.endsWith('/.well-known/openid-configuration'))
      return answer(200, { issuer: ISSUER, token_endpoint: `${ISSUER}/token` });
    if (pathname.endsWith('/token')) {
      const form = new URLSearchParams(await text(request));
      asked.push(`${form.get('grant_type')} ${form.get('refresh_token')}`);
      if (form.get('grant_type') !== 'refresh_token') return answer(401, { error: 'invalid_grant' });
      const token_type = 'Bearer';
      return answer(200, { token_type, access_token: 'new', expires_in: 1_800, refresh_token: 'newer' });
    }
    asked.push(`api ${request.headers.authorization}`);
    return answer(503, {});
  });
  await once(server.listen(PORT, '127.0.0.1'), 'listening');
  stack.defer(async () => {
    server.closeAllConnections();
    server.close();
  });
  return asked;
}

/** The daemon of today on what `name` has left behind, ten minutes later. */
async function upgradeFrom(name: string, prepare: (stateDir: string) => Promise<unknown> = async () => null) {
  const folder = `${FIXTURES}${name}`;
  const { keptAt, retained }: Kept = JSON.parse(await readFile(`${folder}/retained.json`, 'utf8'));
  const story = await openStory({
    at: new Date(Date.parse(keptAt) + HOUR_MS / 6).toISOString(),
    accounts: [{ username: 'me@example.org', password: 'demo', customerCode: '' }],
  });
  const isState = (path: string) => !/(retained\.json|\.gz|\.pem|\.yaml)$/.test(path);
  await cp(folder, story.stateDir, { recursive: true, filter: isState });
  await prepare(story.stateDir);
  const asked = await serveProvider(story);
  const probe = await story.listen();
  for (const [topic, payload] of Object.entries(retained))
    await probe.publish(topic, payload, { retain: true });
  probe.forget();
  await story.start({
    provider: { issuer: ISSUER, api_url: `${ADDRESS}/api/v1` },
    usage: { history_since: undefined, reading_closes: 'auto' },
    constituencies: {},
  });
  const before = (topic: string) => JSON.parse(retained[topic] ?? '');
  const stored = async (path: string) => JSON.parse(await readFile(`${folder}/${path}`, 'utf8'));
  return { story, probe, asked, retained, before, stored };
}

/** Recordings have tests of their own. */
const versions = (await readdir(FIXTURES)).filter((name) => !/-(household|refused|fleet)$/.test(name)).sort();
const METER = Object.keys(
  JSON.parse(await readFile(`${FIXTURES}${versions[0]}/retained.json`, 'utf8')).retained,
).find((topic) => /^heat2mqtt\/meter\/.*\/state$/.test(topic)) as string;

test('there are the versions from before both rewrites, and the first one, each of a commit of its own', async () => {
  expect(versions).toEqual(expect.arrayContaining(['0.1.0', '8739305', 'a4965a4']));
  const kept = versions.map(
    async (name): Promise<Kept> => JSON.parse(await readFile(`${FIXTURES}${name}/retained.json`, 'utf8')),
  );
  const commits = (await Promise.all(kept)).map(({ commit }) => commit);
  expect(new Set(commits).size, commits.join()).toBe(versions.length);
});

/** What Home Assistant hangs an entity's history and its statistics on. */
const lasting = ([key, component]: [string, unknown], name: string) => {
  const { platform, unique_id, default_entity_id, device_class, state_class, unit_of_measurement } =
    Object(component);
  // The Energy dashboard offered it beside the total, and both together count twice.
  const kept = key === 'meter_reading' && name === '8739305' ? undefined : state_class;
  return { platform, unique_id, default_entity_id, device_class, state_class: kept, unit_of_measurement };
};

test.each(versions)('%s: totals, history, entities, topics and session go on', async (name) => {
  const { story, probe, before, retained, asked, stored } = await upgradeFrom(name);
  const [was, is] = [before(METER), probe.json(METER) ?? {}];
  for (const key of ['energy_total', 'cost_total', 'origin', 'day', 'energy_day', 'cost_day', 'missing_days'])
    expect(is[key], key).toEqual(was[key]);
  expect(is.energy_total).toBeGreaterThan(1_000);
  const history = METER.replace(/state$/, 'history');
  const read = (payload = '') => readRetainedHistory(Buffer.from(payload));
  expect(read(probe.last(history)?.payload)).toEqual(read(retained[history]));
  expect((await pathsBelow(story.stateDir)).filter((file) => /damaged|newer/.test(file))).toEqual([]);
  expect(story.log.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([]);

  const documents = Object.keys(retained).filter((topic) => topic.endsWith('/config'));
  expect(documents).toHaveLength(3);
  for (const topic of documents) {
    const [was, is] = [before(topic), probe.json(topic) ?? {}];
    expect(is.device).toMatchObject({ identifiers: was.device.identifiers });
    const entitiesOf = ({ components }: { components?: unknown }) =>
      Object.entries(Object(components)).map((one) => lasting(one, name));
    expect(entitiesOf(is)).toEqual(expect.arrayContaining(entitiesOf(was)));
  }

  const { value } = await stored('accounts/home/tokens.json');
  expect(story.logged('skipping the poll at start: the last one is recent')).toHaveLength(1);
  for (let passed = 0; passed < HOUR_MS && asked.length === 0; passed += 300_000)
    await story.pass(300_000, 300_000);
  // Each retained topic is written, known to `uninstall`, or cleared.
  const { topics } = JSON.parse(await readFile(`${story.stateDir}/announced.json`, 'utf8'));
  const isCleared = (topic: string) => probe.last(topic)?.payload === '';
  expect(Object.keys(retained).filter((topic) => !topics.includes(topic) && !isCleared(topic))).toEqual([]);
  // Neither a login nor a second history.
  expect(asked[0]).toBe(`refresh_token ${value.refreshToken}`);
  expect(asked.filter((one) => !one.startsWith('refresh_token '))).toEqual([]);
  await story.tick();
  await story.polled(1);
  expect(asked.at(-1)).toBe('api Bearer new');
  expect(asked.filter((one) => one.startsWith('password'))).toEqual([]);
});

test('a backup of a4965a4 is restored with every document but the tokens', async () => {
  const folder = `${FIXTURES}a4965a4`;
  const state = await openStack().folder();
  const configuration = `${state}.yaml`;
  await writeFile(configuration, `state_dir: ${state}\n`);
  const { exitCode } = await typed(['restore', `${folder}/backup.gz`, '--config', configuration, '--yes']);
  expect(exitCode).toBe(0);
  for (const name of ['accounts/home/ledger-410004', 'accounts/home/extras', 'announced', 'installation']) {
    const read = async (root: string) => documentIn(await readFile(`${root}/${name}.json`, 'utf8'));
    expect(await read(state), name).toEqual(await read(folder));
  }
});

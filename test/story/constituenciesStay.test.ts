// The last good list of constituencies stays: through faults, restarts, and a broker that forgets.
import { expect, test } from 'vitest';
import type { Fault } from '../../src/simulator/faults.ts';
import { FAULTS, tooMany } from '../support/faults.ts';
import { asking, LIST, openListStory, REQUEST, SUMMARY } from '../support/lists.ts';
import { untilTrue } from '../support/rest.ts';
import { firstPoll } from '../support/story.ts';

const BRIDGE = 'homeassistant/device/heat2mqtt_bridge/config';

const FAULTY: readonly (readonly [string, Fault, string])[] = [
  ['HTML', FAULTS.captivePage, 'unexpected_reply'],
  ['500', FAULTS.serverError, 'provider_unreachable'],
  ['404', FAULTS.notFound, 'provider_refused'],
  ['a huge reply', FAULTS.oversized, 'reply_too_large'],
];

test('each fault: an error with a code; the list stays and says that it is stale, until the next good one', async () => {
  const { story, probe, switches } = await openListStory();
  await asking(probe);
  for (const [what, fault, code] of FAULTY) {
    const good = probe.json(LIST);
    const ordered = switches.fault('/v1/', fault);
    await story.pass(1_000);
    const answer = await asking(probe, { force: true });
    expect([what, answer]).toMatchObject([
      what,
      {
        status: 'error',
        error: { code, message: expect.any(String), hint: expect.any(String) },
        data: { topic: LIST, count: 43, stale: true, fetched_at: good?.fetched_at, changed: false },
      },
    ]);
    expect(probe.json(LIST)).toEqual({ ...good, stale: true });
    expect(probe.json(SUMMARY)).toMatchObject({ count: 43, stale: true });
    ordered.remove();
    // A stale list is no answer: asked within the minute, it is fetched anew.
    expect(await asking(probe)).toMatchObject({
      status: 'ok',
      data: { fetched: true, changed: false, stale: false },
    });
    expect(probe.json(LIST)).toMatchObject({ stale: false });
  }
});

test('a service that hangs is given up after thirty seconds', async () => {
  const { story, probe, switches, fetches } = await openListStory();
  switches.fault('/v1/', { kind: 'hang' }, { times: 1 });
  const answer = asking(probe);
  await untilTrue('the request', () => fetches() === 1);
  await story.pass(31_000);
  expect(await answer).toMatchObject({
    status: 'error',
    error: { code: 'provider_unreachable', message: expect.stringContaining('time ran out') },
    data: { topic: LIST, count: null },
  });
  expect(probe.on(LIST)).toEqual([]);
});

test('Retry-After is honoured, by force too', async () => {
  const { story, probe, switches, fetches } = await openListStory();
  switches.fault('/v1/', tooMany(120), { times: 1 });
  expect(await asking(probe)).toMatchObject({ status: 'error', error: { code: 'provider_unreachable' } });
  expect(await asking(probe, { force: true })).toMatchObject({
    status: 'skipped',
    data: { reason: 'retry_after', next_at: '2025-03-10T12:02:00+00:00' },
  });
  expect(await probe.until('heat2mqtt/bridge/event')).toMatchObject({
    event_type: 'request_skipped',
    code: 'retry_after',
    request: 'constituencies',
    message: expect.stringContaining('possible again at 12:02.'),
  });
  await story.pass(120_000, 10_000);
  expect(await asking(probe)).toMatchObject({ status: 'ok' });
  expect(fetches()).toBe(2);
});

test('an unknown shape is passed on while there is no list, and gives way to any; the older shape is the same list', async () => {
  const { story, probe, switches } = await openListStory();
  switches.constituencies.shape = 'third';
  expect(await asking(probe)).toMatchObject({
    status: 'ok',
    data: { count: null, changed: true, warning: expect.stringContaining('shape') },
  });
  expect(probe.json(LIST)).toMatchObject({
    count: null,
    constituencies: null,
    raw: { constituencies: expect.any(Array) },
  });
  expect(story.log.some(({ level, warning }) => level === 'warn' && warning !== undefined)).toBe(true);
  Object.assign(switches.constituencies, { shape: 'newer', deepSkip: 1 });
  switches.fault('/v1/', { kind: 'change', change: halved });
  expect(await asking(probe)).toMatchObject({ status: 'ok', data: { count: 21 } });
  switches.clearFaults();
  switches.constituencies.shape = 'older';
  await asking(probe, { force: true });
  const older = probe.json(LIST);
  switches.constituencies.shape = 'newer';
  await asking(probe, { force: true });
  expect(probe.json(LIST)).toEqual(older);
});

test('an unknown shape does not touch the good list, which is kept, through a restart too', async () => {
  const { story, daemon, start, probe, switches } = await openListStory();
  await asking(probe);
  const good = probe.json(LIST);
  switches.constituencies.shape = 'third';
  expect(await asking(probe, { force: true })).toMatchObject({
    status: 'error',
    error: { code: 'unexpected_reply', message: expect.stringContaining('another shape') },
    data: { topic: LIST, count: 43, stale: true, fetched_at: good?.fetched_at, changed: false },
  });
  const kept = { ...good, stale: true };
  expect(probe.json(LIST)).toEqual(kept);
  expect(probe.json(SUMMARY)).toMatchObject({ count: 43, stale: true });
  await story.stop(daemon);
  probe.forget();
  await start();
  expect(await probe.until(LIST)).toEqual(kept);
  switches.constituencies.shape = 'newer';
  expect(await asking(probe)).toMatchObject({ status: 'ok', data: { stale: false } });
});

test('a list with gaps is published with a warning, but never over a whole one', async () => {
  const { probe, switches } = await openListStory();
  switches.constituencies.deepSkip = 1;
  switches.fault('/v1/', { kind: 'change', change: halved });
  expect(await asking(probe)).toMatchObject({
    status: 'ok',
    data: { count: 21, warning: expect.stringContaining('21 of 43') },
  });
  expect(probe.json(LIST)).toMatchObject({ count: 21, total: 43, complete: false });
  switches.clearFaults();
  expect(await asking(probe, { force: true })).toMatchObject({ data: { count: 43, changed: true } });
  switches.fault('/v1/', { kind: 'change', change: halved });
  expect(await asking(probe, { force: true })).toMatchObject({
    status: 'error',
    error: { code: 'incomplete_list' },
    data: { count: 43, stale: true },
  });
  expect(probe.json(LIST)).toMatchObject({ count: 43, complete: true, stale: true });
  switches.clearFaults();
  // Nor does the one house of the older shape replace all of them.
  const dail = { chamber: 'dail', force: true };
  const { data } = await asking(probe, dail);
  switches.constituencies.shape = 'older';
  const { count, total } = data as { readonly count: number; readonly total: number };
  expect(await asking(probe, dail)).toMatchObject({
    status: 'error',
    error: { code: 'incomplete_list' },
    data: { count, total, complete: true, stale: true },
  });
});

function halved(body: unknown): unknown {
  const { results, ...rest } = body as { results?: unknown[] };
  return results ? { ...rest, results: results.slice(0, 21) } : body;
}

test('lists survive a restart and a broker that forgot, without a fetch', async () => {
  const { story, daemon, start, probe, fetches } = await openListStory();
  await asking(probe);
  const seanad = await asking(probe, { chamber: 'seanad', house_no: 27 });
  const { topic } = seanad.data as { topic: string };
  await story.stop(daemon);
  await story.restartBroker();
  await start();
  const after = await story.listen();
  await after.until(topic);
  await after.until(LIST, ({ count }) => count === 43);
  await after.until(SUMMARY, ({ count }) => count === 43);
  expect(after.json(LIST)).toEqual(probe.json(LIST));
  // The clock went on by the stop only: the cached list is fresh enough.
  expect(await asking(after)).toMatchObject({ status: 'ok', data: { fetched: false } });
  expect(fetches()).toBe(2);

  await story.restartBroker();
  await story.pass(40_000);
  const again = await story.listen();
  await again.until(LIST, ({ count }) => count === 43);
  await again.until(topic);
  expect(fetches()).toBe(2);
});

test('a fetch cut short by the end of the daemon leaves the list unmarked', async () => {
  const { story, daemon, start, probe, switches, fetches } = await openListStory();
  await asking(probe);
  switches.fault('/v1/', { kind: 'hang' });
  await probe.publish(REQUEST, '{"force":true}');
  await untilTrue('the fetch', () => fetches() === 2);
  expect(await story.stop(daemon)).toBeLessThan(8_000);
  probe.forget();
  await start();
  expect(await probe.until(LIST)).toMatchObject({ stale: false, count: 43 });
});

test('taken out of the configuration: lists, sensors and button are withdrawn, a request is refused', async () => {
  const { probe, restart } = await firstPoll({ config: { constituencies: { house_no: 34 } } });
  await asking(probe);
  await restart();
  await probe.untilCleared([LIST, SUMMARY]);
  const documents = probe.on(BRIDGE).map(({ payload }) => payload);
  expect(documents[0]).toContain('"refresh_constituencies":{"platform":"button"}');
  expect(documents.at(-1)).not.toContain('constituencies');
  expect(await asking(probe)).toMatchObject({ status: 'error', error: { code: 'not_configured' } });
});

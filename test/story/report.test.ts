// heat2mqtt report beside a running daemon: enough to understand a fault from afar, and nothing about a person.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { about, CANARY } from '../support/canaries.ts';
import { FAULTS } from '../support/faults.ts';
import { HEALTH, ME, STATE } from '../support/homes.ts';
import { openStory } from '../support/story.ts';
import { usualConfig } from '../support/storyRules.ts';
import { typed } from '../support/typed.ts';

const { username, password } = ME;

async function openDesk() {
  const story = await openStory();
  const path = join(story.stateDir, 'heat2mqtt.yaml');
  const config = usualConfig(story.simulator.urls, [ME], 'mqtt://127.0.0.1:9', story.stateDir);
  await writeFile(path, JSON.stringify(config));
  async function report() {
    const { out, err, exitCode } = await typed(['report', '--config', path]);
    story.alsoSaid(out, err);
    return { code: exitCode, text: out + err };
  }
  return { story, path, report };
}

test('polls, budget, ledger and shapes of replies, after a good poll and a strange one', async () => {
  const { story, report } = await openDesk();
  story.simulator.switches.fault('/api/', FAULTS.notFound, {
    when: ({ path }) => /invoices|bills/.test(path),
  });
  const probe = await story.listen();
  await story.start();
  await probe.until(STATE);
  await story.polled(1);
  story.simulator.switches.fault('/api/v1/reports', {
    kind: 'reply',
    status: 200,
    body: { aggregations: { resources: about(ME), [CANARY.name]: 1 } },
  });
  story.tick();
  await probe.until(HEALTH, ({ failures_in_a_row }) => failures_in_a_row === 1);
  await story.rest();

  const { code, text } = await report();
  expect(code).toBe(0);
  expect(text).toMatch(/Node|node v/);
  expect(text).toMatch(/2025-03-10T12:\S+ ok\n +2025-03-10T12:\S+ unexpected_reply\n/);
  expect(text).toContain('no login was refused');
  expect(text).toContain('invoices 2025-03-10, left out; register 2025-03-10\n');
  expect(text).toContain('origin 2025-01-01, read up to 2025-03-11, history complete');
  expect(text).toContain('aggregations.resources.buckets[].key: string');
  expect(text).toContain('aggregations.<key>: number');
  expect(text).toContain('username: [private] # file');
  expect(text).not.toContain('mail.example.org');
});

test('a body that is not JSON is remembered as such, a refused password with its waiting time', async () => {
  const { story, report } = await openDesk();
  story.simulator.switches.fault('/api/', FAULTS.captivePage);
  await story.start();
  await story.polled(1);
  expect((await report()).text).toContain('text/html, not JSON');

  const other = await openDesk();
  other.story.simulator.changePassword(ME.username, 'another');
  await other.story.start();
  await other.story.polled(1);
  expect((await other.report()).text).toMatch(/logins refused: 1 \(\w+\), next try 2025-03-10T12:15/);
});

test('before the first start, and with a configuration that is wrong', async () => {
  const { report, path } = await openDesk();
  const { code, text } = await report();
  expect(code).toBe(0);
  expect(text).toContain('never polled');
  expect(text).toContain('none seen yet');
  await writeFile(path, JSON.stringify({ accounts: [{ username, password, pasword: password }] }));
  const wrong = await report();
  expect(wrong.code).toBe(3);
  expect(wrong.text).toContain('accounts.0.pasword: found an unknown key');
});

// The built program writes statistics: its chunks bring the socket along, check tells how it stands, and run does the work.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { METER } from '../support/homes.ts';
import { startPretendHomeAssistant } from '../support/pretendHomeAssistant.ts';
import { openHomeWithBroker, outcome } from './program.ts';

test('check --live, then run: every day of the ledger, and the token nowhere', async () => {
  const home = await openHomeWithBroker();
  const ha = home.stack.use(await startPretendHomeAssistant('tok-en-of-an-administrator'));
  const file = join(home.folder, 'ha_token');
  await writeFile(file, 'another-token-altogether\n');
  const config = await home.configure({
    home_assistant: { url: ha.url, token_file: file },
  });
  const refused = await outcome(['check', '--live', '--config', config]);
  expect(refused.code).toBe(7);
  expect(refused.output).toContain('FAILED Home Assistant: Home Assistant refuses the token.');
  await writeFile(file, `${ha.switches.token}\n`);
  const fine = await outcome(['check', '--live', '--config', config]);
  expect([fine.code, fine.errors]).toEqual([0, '']);
  expect(fine.output).toContain('ok     Home Assistant: version 2026.10, statistics can be written');

  const program = home.start(config);
  // Energy comes first, the cost after it has been read back.
  await program.says(/_cost","stored":(\d+),"total":\1,/);
  const [energy, cost] = ['energy', 'cost'].map((kind) => ha.rows(`heat2mqtt:${METER}_${kind}`));
  expect(energy?.length).toBeGreaterThan(300);
  expect(cost).toHaveLength(energy?.length ?? 0);
  expect((await program.end('SIGTERM')).code).toBe(0);
  const { output } = program;
  expect(output + refused.output + fine.output).not.toMatch(/token-altogether|tok-en-of/);
});

// heat2mqtt setup hears what the meters themselves publish on the broker, and offers it.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { systemClock } from '../../src/foundation/clock.ts';
import { startBroker } from '../../src/mqtt/broker.ts';
import { startSimulator } from '../../src/simulator/provider.ts';
import { ME, METER } from '../support/homes.ts';
import { startProbe } from '../support/probe.ts';
import { openStack, type Stack } from '../support/stack.ts';
import { type StrictBroker, startStrictBroker } from '../support/strictBroker.ts';
import { typed } from '../support/typed.ts';

/** Sets the program up beside a broker, and looks on it for registers. Resolves with all that was told. */
async function lookedOn(stack: Stack, brokerUrl: string, config: string): Promise<string> {
  const simulator = stack.use(await startSimulator({ clock: systemClock, accounts: [ME] }));
  const answers = {
    Provider: '2',
    Issuer: simulator.urls.issuer,
    API: simulator.urls.api,
    'Client id': 'self-care',
    'User name on': ME.username,
    'Password on that page': ME.password,
    'MQTT broker': brokerUrl,
  };
  let told = '';
  const numberOf = (line: string) => told.match(new RegExp(`\\d+(?= {2}${line})`, 'g'))?.at(-1) ?? '';
  const offers = ['look on the broker', 'nothing more now'];
  await typed(['setup', '--config', config], {
    hear: (text) => {
      told += text;
    },
    ask: async (question) => {
      if (question.startsWith('What comes next')) return numberOf(offers.shift() ?? '');
      return Object.entries(answers).find(([start]) => question.startsWith(start))?.[1] ?? '';
    },
  });
  return told;
}

test('offers the register that a meter of the account publishes itself, and writes its topic', async () => {
  const stack = openStack();
  const broker = stack.use(await startBroker());
  const probe = stack.use(await startProbe(broker.url));
  const telegram = { _: 'telegram', media: 'heat', id: METER, total_kwh: 6891.2 };
  const said = {
    [`\u001b[2J/${METER}`]: telegram,
    [`meters/${METER}/`]: telegram,
    'electricity/1': { ...telegram, media: 'electricity' },
    'wmbusmeters/70418236': { ...telegram, id: '70418236' },
    'wmbusmeters/flat': telegram,
  };
  for (const [topic, payload] of Object.entries(said))
    await probe.publish(topic, JSON.stringify(payload), { retain: true });

  const config = join(await stack.folder(), 'config.yaml');
  const told = await lookedOn(stack, broker.url, config);
  expect(told).toContain(`wmbusmeters/flat has a register of ${METER}.`);
  expect(told).not.toMatch(/electricity\/1|70418236|2J|meters\/70418235\//);
  expect(parse(await readFile(config, 'utf8')).meters).toEqual({
    [METER]: { witness: { topic: 'wmbusmeters/flat' } },
  });
});

test('says that the connection has ended, and not that nothing was heard, when it does while it listens', async () => {
  const stack = openStack();
  const broker: StrictBroker = await startStrictBroker({
    subscribe(filter) {
      if (filter === '#') setImmediate(() => broker.cut());
      return 1;
    },
  });
  const told = await lookedOn(stack, broker.url, join(await stack.folder(), 'config.yaml'));
  expect(told).toContain('The broker has not acknowledged');
  expect(told).not.toContain('None was heard');
});

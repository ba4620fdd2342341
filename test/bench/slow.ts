// One account of a hundred that is answered after seconds: what the others notice, and how many requests are under way at once.
import { startProvider } from './children.ts';
import { type Bench, compared, openHome, type Row } from './home.ts';

const ACCOUNTS = 100;
const CONCURRENCY = 16;
const SLOW_MS = 3_000;

/** Of each poll of all accounts, the first two left out: milliseconds from the first request to the last. */
async function polls(bench: Bench, name: string, count: number, env: NodeJS.ProcessEnv) {
  const provider = await startProvider(env);
  const many = { accounts: ACCOUNTS, concurrency: CONCURRENCY, historyMonths: 1 };
  const home = await openHome({ ...bench, provider }, name, { ...many, schedule: '*/5 * * * * *' });
  const child = home.run();
  const spans: number[] = [];
  let mostUnderWay = 0;
  for (let n = 0; n < count + 2; n += 1) {
    const { firstUsageAt, lastUsageAt, mostInFlight } = await provider.asked(ACCOUNTS);
    spans.push(lastUsageAt - firstUsageAt);
    mostUnderWay = Math.max(mostUnderWay, mostInFlight);
  }
  await child.kill('SIGTERM');
  provider.stop();
  return { spans: spans.slice(2), mostUnderWay };
}

export async function benchSlow(bench: Bench, count: number): Promise<Row[]> {
  // Account 7 has property 57.
  const slow = await polls(bench, 'slow', count, { SLOW_PROPERTY: '57', SLOW_MS: String(SLOW_MS) });
  const quick = await polls(bench, 'quick', count, {});
  const crowded = await polls(bench, 'crowded', 1, { WAIT_MS: '30' });
  return [
    compared(
      `${ACCOUNTS} accounts, one answered after ${SLOW_MS / 1000} s: until all are asked, ms (floor: all are quick)`,
      { ours: slow.spans, floor: quick.spans, limit: `${SLOW_MS} ms` },
    ),
    {
      what: 'requests under way at once, first start included, each answered after 30 ms',
      ours: String(crowded.mostUnderWay),
      limit: String(CONCURRENCY),
    },
  ];
}

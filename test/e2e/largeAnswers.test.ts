// Answers that are as large as they may be, or hardly anything on the wire and huge unpacked: the built program neither stops nor grows.
import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { Fault } from '../../src/simulator/switches.ts';
import { turn } from '../support/waitFor.ts';
import { openHome } from './program.ts';

/** After a poll that went well they are asked for. */
const EXTRAS_MS = 1_000;
const API = '/api/v1';
const TOKENS = '/auth/realms/energy/protocol/openid-connect/token';
const many = (count: number, text: string) => Array(count).fill(text).join(',');
const packed = (text: string): Fault => {
  return { kind: 'reply', status: 200, body: gzipSync(text), headers: { 'content-encoding': 'gzip' } };
};

const FLOOD = packed(`[${many(5_500_000, '{}')}]`);
const NOTHING = packed(`{"objects":[${many(99_000, '{}')}]}`);
const NAMES = packed(`{${Array.from({ length: 99_000 }, (_, at) => `"name-${at}":1`).join(',')}}`);
const EMPTY_DAYS = packed(
  `{"aggregations":{"resources":{"buckets":[{"key":"Euro","readings":{"intervals":{"buckets":[${many(99_000, '{}')}]}}}]}}}`,
);
/** Runs until a poll has ended; tells the peak of its memory, in MB. `null`: nothing goes wrong. */
async function measured(path: string, fault: Fault | null) {
  const home = await openHome();
  if (fault !== null) home.simulator.switches.fault(path, fault);
  const program = home.start(await home.configure({ mqtt: { embedded: { port: 0 } } }));
  await program.says(/"msg":"(polled|poll failed)"/);
  await program.says(/"msg":"(connected to the broker)"/);
  await turn(EXTRAS_MS);
  const status = await readFile(`/proc/${program.pid}/status`, 'utf8');
  const peak = Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
  const { code } = await program.end('SIGTERM');
  return { peak, code, output: program.output };
}

/** Measured once. */
let usual: number | null = null;

test.each<[string, string, Fault]>([
  ['a flood for the customer', `${API}/customers`, FLOOD],
  ['names for the customer', `${API}/customers`, NAMES],
  ['a flood for the usage', `${API}/reports/usage`, FLOOD],
  ['empty days', `${API}/reports/usage`, EMPTY_DAYS],
  ['a flood for the invoices', `${API}/invoices`, FLOOD],
  ['invoices of nothing', `${API}/invoices`, NOTHING],
  ['a flood for the metadata', '/auth/realms/energy/.well-known', FLOOD],
  ['a flood for the tokens', TOKENS, FLOOD],
  ['names for the tokens', TOKENS, NAMES],
])(
  '%s: the program lives, says why, and has taken less than 100 MB more than usual',
  async (_, path, fault) => {
    usual ??= (await measured(path, null)).peak;
    const { peak, code, output } = await measured(path, fault);
    expect(code).toBe(0);
    expect(output).toMatch(/"(reply_too_large|unexpected_reply|issuer_unreachable)"/);
    expect(peak - usual).toBeLessThan(100);
  },
);

// A real Chromium for the page: what it complains of, what it asks of others, and pictures of what it shows.
import { mkdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { ROOT } from '../support/sources.ts';
import type { Stack } from '../support/stack.ts';

export const PAGE_PICTURES = process.env.PAGE_PICTURES ?? join(ROOT, 'coverage/page');
const { CHROMIUM = '/usr/bin/chromium' } = process.env;
const QUIET =
  '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync';
/** This machine under a name that the browser does not take for its own: what it sends there can be read. */
export const PLAIN_NAME = 'heat.example.org';
export const PHONE = 375;
export const DESK = 1440;

/** One for all tests of a file. */
export let browser: Browser;
beforeAll(async () => {
  browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: [...QUIET.split(' '), `--host-resolver-rules=MAP ${PLAIN_NAME} 127.0.0.1`],
  });
});
afterAll(() => browser.close());

export interface Look {
  readonly width?: number;
  readonly dark?: boolean;
  readonly locale?: string;
  /** Of faults on the console: those that the test makes. */
  readonly expected?: RegExp;
}

/** Opens the page in a profile of its own. At the end the test fails for whatever the browser complained of. */
export async function look(stack: Stack, url: string, how: Look = {}) {
  const { width = DESK, dark = false, locale = 'en-IE', expected = /^$/ } = how;
  const context = await browser.newContext({
    viewport: { width, height: width === PHONE ? 812 : 900 },
    colorScheme: dark ? 'dark' : 'light',
    locale,
    timezoneId: 'Europe/Dublin',
    acceptDownloads: true,
    hasTouch: width === PHONE,
  });
  const faults: string[] = [];
  const page = await context.newPage();
  page.on('console', (said) => {
    if (said.type() === 'error' || said.type() === 'warning') faults.push(said.text());
  });
  page.on('pageerror', (err) => faults.push(err.message));
  page.on('request', (request) => {
    const asked = new URL(request.url());
    if (asked.protocol !== 'data:' && asked.origin !== new URL(url).origin) faults.push(`asked ${asked}`);
  });
  stack.defer(async () => {
    await context.close();
    expect(faults.filter((fault) => !expected.test(fault))).toEqual([]);
  });
  await page.goto(url);
  return page;
}

export const ready = (page: Page) => page.getByRole('article').getByText('kWh').first().waitFor();

/** Kept as an artefact of the run: for eyes, not for comparing. */
export async function picture(page: Page, name: string): Promise<void> {
  await mkdir(PAGE_PICTURES, { recursive: true });
  await page.screenshot({ path: join(PAGE_PICTURES, `${name}.png`), fullPage: true, animations: 'disabled' });
}

/** What axe finds, in words. */
export async function complaints(page: Page): Promise<string[]> {
  const source = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  // Not as a script element: the page allows none but its own.
  await page.evaluate(source);
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: typeof import('axe-core') };
    const { violations } = await axe.run();
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
    );
  });
}

/** A picture for eyes, and what axe finds on it. */
export async function judge(page: Page, name: string): Promise<void> {
  await picture(page, name);
  expect(await complaints(page)).toEqual([]);
}

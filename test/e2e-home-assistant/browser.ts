// Home Assistant's frontend in a real Chromium, with its owner signed in.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { ROOT } from '../support/sources.ts';
import type { House } from './story.ts';

const { CHROMIUM = '/usr/bin/chromium', HEAT2MQTT_PICTURES } = process.env;
const QUIET =
  '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync';

export const hasBrowser = existsSync(CHROMIUM);

export async function openBrowser({ stack, homeAssistant: { url }, token }: House): Promise<Page> {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: QUIET.split(' ') });
  stack.defer(() => browser.close());
  const context = await browser.newContext({
    baseURL: url,
    viewport: { width: 600, height: 1_000 },
    locale: 'en-GB',
    timezoneId: 'Europe/Dublin',
    reducedMotion: 'reduce',
  });
  // As the frontend keeps them after a sign-in.
  const tokens = { hassUrl: url, clientId: `${url}/`, access_token: token, refresh_token: '', expires: 1e15 };
  const kept = { hassTokens: JSON.stringify(tokens), dockedSidebar: '"always_hidden"' };
  await context.addInitScript(`Object.assign(localStorage, ${JSON.stringify(kept)})`);
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  return page;
}

interface Area {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** For the documentation: written only where HEAT2MQTT_PICTURES names a folder. */
export async function picture(page: Page, name: string, clip: Area): Promise<void> {
  if (HEAT2MQTT_PICTURES === undefined) return;
  await page.screenshot({
    path: join(ROOT, HEAT2MQTT_PICTURES, `${name}.png`),
    animations: 'disabled',
    clip,
  });
}

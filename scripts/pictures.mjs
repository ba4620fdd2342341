// Takes the README's picture of the page: the built demo, looked at with Chromium. Never by hand.
import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { chromium } from 'playwright-core';

const root = new URL('..', import.meta.url).pathname;
const { CHROMIUM = '/usr/bin/chromium' } = process.env;
const WIDTH = 1100;
const HEIGHT = 850;

const demo = spawn(process.execPath, [`${root}dist/heat2mqtt.js`, 'demo', '--port', '0']);
const address = await new Promise((resolve, reject) => {
  let said = '';
  demo.stdout.on('data', (bytes) => {
    said += bytes;
    const found = /(http:\/\/127\.0\.0\.1:\d+)\/healthz/.exec(said)?.[1];
    if (found) resolve(`${found}/`);
  });
  demo.once('exit', () => reject(new Error('the demo has ended; npm run build makes it')));
});
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
try {
  const page = await browser.newPage({ viewport: { width: WIDTH, height: HEIGHT }, locale: 'en-IE' });
  await page.goto(address);
  await page.locator('.slots .bar').first().waitFor();
  await page.getByText('Newest bill').waitFor();
  await mkdir(`${root}docs/pictures`, { recursive: true });
  await page.screenshot({ path: `${root}docs/pictures/page.png` });
} finally {
  await browser.close();
  demo.removeAllListeners('exit');
  demo.kill('SIGINT');
}

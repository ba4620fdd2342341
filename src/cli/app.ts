// An app of Home Assistant runs `run` as root at first, and tells options that are wrong on a page.
import { chmod, lchown, mkdir, stat } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { dirname, join } from 'node:path';
import type { ConfigInvalid } from '../config/faults.ts';
import { systemClock } from '../foundation/clock.ts';
import { pathsBelow } from '../store/privateFiles.ts';
import { type Ingress, openServer, SUPERVISORS_INGRESS, serveIngress } from '../web/server.ts';
import type { Io } from './command.ts';
import { WAITS_FOR_OPTIONS } from './healthcheck.ts';
import { untilInterrupted } from './settings.ts';

/** An app of Home Assistant serves a page that names the mistakes, instead of being restarted in a loop. */
export async function waitForOptions(invalid: ConfigInvalid, io: Io): Promise<void> {
  const { HEAT2MQTT_HTTP_LISTEN: listen = '0.0.0.0:8099', STATE_DIRECTORY: stateDirectory } = io.env;
  if (stateDirectory) await dropRoot(stateDirectory);
  const opened = await serveMistakes(invalid, listen, SUPERVISORS_INGRESS);
  io.err(`${invalid.message}\n${NEXT}\n`);
  // It ends with the app; the Supervisor starts it again with other options.
  await untilInterrupted(io);
  await Promise.all(opened.map((server) => server.stop()));
}

const NEXT = 'Correct them on the Configuration tab of this app, save, and press Restart.';

/** `/healthz` on `listen` is fine, so that the Supervisor does not restart the app; the page is for Home Assistant only. */
export async function serveMistakes({ message }: ConfigInvalid, listen: string, ingress: Ingress) {
  const lines = message.split('\n');
  const items = lines.map((line) => `<li>${line.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</li>`);
  const page = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<title>heat2mqtt</title><h1>${WAITS_FOR_OPTIONS}</h1>
<p>${lines.length === 1 ? 'One of them is' : 'These are'} missing or wrong:</p><ul>${items.join('')}</ul><p>${NEXT}</p></html>
`;
  const health: RequestListener = ({ url }, response) => {
    response.writeHead(url === '/healthz' ? 200 : 503, { 'content-type': 'text/plain; charset=utf-8' });
    response.end(`${WAITS_FOR_OPTIONS}\n`);
  };
  const mistakes: RequestListener = (_request, response) => {
    response.writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'self'",
      'cache-control': 'no-store',
    });
    response.end(page);
  };
  return Promise.all([
    openServer(listen, health, { clock: systemClock }),
    serveIngress(ingress, mistakes, systemClock),
  ]);
}

/** The user of the container image. */
const USER = 10_001;
const MAY_PASS = 0o001;

/**
 * Home Assistant starts its app as root, because /data and the options in it belong to root.
 * To be called once the options have been read: only root can read them. Does nothing for any other user.
 */
export async function dropRoot(stateDirectory: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  await mkdir(stateDirectory, { recursive: true });
  const around = dirname(stateDirectory);
  const { mode } = await stat(around);
  // The folder around it may be for root alone.
  await chmod(around, mode | MAY_PASS);
  for (const path of ['', ...(await pathsBelow(stateDirectory))])
    await lchown(join(stateDirectory, path), USER, USER);
  process.setgroups?.([USER]);
  process.setgid?.(USER);
  process.setuid?.(USER);
}

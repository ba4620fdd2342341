// Within a Home Assistant app, options that are missing or wrong: a page that names each mistake, instead of a restart in a loop.
import type { RequestListener } from 'node:http';
import type { ConfigInvalid } from '../config/load.ts';
import { systemClock } from '../foundation/clock.ts';
import { type Ingress, type Listening, openServer, serveIngress } from '../web/server.ts';

const NEXT = 'Correct them on the Configuration tab of this app, save, and press Restart.';

const ESCAPED: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const html = (text: string): string => text.replace(/[&<>"]/g, (odd) => ESCAPED[odd] ?? odd);

function pageOf({ message }: ConfigInvalid): string {
  const lines = message.split('\n').map((line) => `<li>${html(line)}</li>`);
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<title>heat2mqtt</title><h1>heat2mqtt waits for its options</h1>
<p>${lines.length === 1 ? 'One of them is' : 'These are'} missing or wrong:</p><ul>${lines.join('')}</ul><p>${NEXT}</p></html>
`;
}

/** `/healthz` on `listen` is fine, so that the Supervisor does not restart the app; the page is for Home Assistant only. */
export async function serveMistakes(
  invalid: ConfigInvalid,
  listen: string,
  ingress: Ingress,
): Promise<{ readonly words: string; readonly opened: readonly Listening[] }> {
  const health: RequestListener = (request, response) => {
    const isHealth = request.url === '/healthz';
    response.writeHead(isHealth ? 200 : 503, { 'content-type': 'text/plain; charset=utf-8' });
    response.end(isHealth ? 'waits for its options\n' : 'heat2mqtt waits for its options\n');
  };
  const page = pageOf(invalid);
  const mistakes: RequestListener = (_request, response) => {
    response.writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'self'",
      'cache-control': 'no-store',
    });
    response.end(page);
  };
  const opened = [
    openServer(listen, health, { clock: systemClock }),
    serveIngress(ingress, mistakes, systemClock),
  ];
  return { words: `${invalid.message}\n${NEXT}\n`, opened: await Promise.all(opened) };
}

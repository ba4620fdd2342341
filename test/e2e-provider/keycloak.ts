// A real Keycloak on a port of the loopback, with its database in a folder.
import { join } from 'node:path';
import { startJava } from './java.ts';

export const ADMIN = { username: 'admin', password: 'admin-of-the-tests' };

const OPENED = ['java.util', 'java.util.concurrent', 'java.security', 'java.lang'];

/** `parts`: what scripts/provider-parts.sh has prepared. Started in the same folder again, it has kept its sessions. */
export async function startKeycloak(parts: string, folder: string, port: number) {
  const home = join(parts, 'keycloak');
  const threads = 'java.util.concurrent.ForkJoinPool.common.threadFactory';
  // What bin/kc.sh does, without a shell in between, which would not pass on every signal.
  const child = await startJava(
    'Keycloak',
    [
      '-Xms128m',
      '-Xmx700m',
      ...OPENED.map((name) => `--add-opens=java.base/${name}=ALL-UNNAMED`),
      '-Duser.language=en',
      `-Dkc.home.dir=${home}`,
      `-D${threads}=io.quarkus.bootstrap.forkjoin.QuarkusForkJoinWorkerThreadFactory`,
      '-Djava.util.logging.manager=org.jboss.logmanager.LogManager',
      '-Dpicocli.disable.closures=true',
      ...['-cp', join(home, 'lib/quarkus-run.jar'), 'io.quarkus.bootstrap.runner.QuarkusEntryPoint'],
      ...['start', '--optimized', '--cache=local', '--http-enabled=true', '--hostname-strict=false'],
      ...['--http-host=127.0.0.1', `--http-port=${port}`],
      `--db-url=jdbc:h2:file:${join(folder, 'keycloak')};NON_KEYWORDS=VALUE`,
    ],
    /started in [\d.]+s/,
    { KC_BOOTSTRAP_ADMIN_USERNAME: ADMIN.username, KC_BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password },
  );
  return {
    url: `http://127.0.0.1:${port}`,
    /** Politely, so that it writes down what it knows. */
    stop: () => child.end('SIGTERM'),
  };
}

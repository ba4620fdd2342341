// Java programs as child processes.
import { type Child, startChild } from '../support/child.ts';
import { waitFor } from '../support/waitFor.ts';

const { JAVA_HOME } = process.env;
// A Keycloak that shares two cores with other work takes minutes.
const START_MS = 420_000;

/** Resolves when its output says that it is `ready`. */
export async function startJava(
  what: string,
  args: readonly string[],
  ready: RegExp,
  env: Readonly<Record<string, string>> = {},
): Promise<Child> {
  const child = startChild(JAVA_HOME ? `${JAVA_HOME}/bin/java` : 'java', args, { env });
  const said = () => `${child.output}\n${child.errors}`;
  const ended = child.exited.then((code) =>
    Promise.reject(new Error(`${what} ended with ${code}: ${said()}`)),
  );
  const started = waitFor(what, () => ready.test(child.output), {
    timeoutMs: START_MS,
    diagnose: () => said().slice(-4_000),
  });
  // Ending later is no fault.
  ended.catch(() => undefined);
  await Promise.race([started, ended]).catch(async (err) => {
    await child.stop();
    throw err;
  });
  return child;
}

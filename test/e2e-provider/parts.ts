// Before all tests: a Keycloak and a search engine with readings, or a failure with the sentence that says why there are none.
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { freePort } from '../e2e/mosquitto.ts';
import { told } from '../support/scripts.ts';
import type { Stoppable } from '../support/stack.ts';
import { createIndex, fillEngine, startEngine } from './engine.ts';
import { startKeycloak } from './keycloak.ts';
import { HOMES, readingsOf } from './readings.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** What scripts/provider-parts.sh has prepared. */
    parts: string;
    keycloak: string;
    engine: string;
    /** Where the engine keeps its files. */
    engineFolder: string;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const parts = await told('provider-parts.sh');
  const folder = await mkdtemp(join(tmpdir(), 'heat2mqtt-provider-'));
  const running: Stoppable[] = [];
  const stop = async () => {
    await Promise.all(running.map((one) => one.stop()));
    await rm(folder, { recursive: true, force: true });
  };
  const use = <T extends Stoppable>(one: T): T => {
    running.push(one);
    return one;
  };
  try {
    await mkdir(join(folder, 'engine'));
    const [keycloak, engine] = await Promise.all([
      freePort()
        .then((port) => startKeycloak(parts, folder, port))
        .then(use),
      freePort()
        .then((port) => startEngine(parts, join(folder, 'engine'), port))
        .then(use),
    ]);
    await createIndex(engine.url);
    for (const home of HOMES) await fillEngine(engine.url, home.property, readingsOf(home));
    project.provide('parts', parts);
    project.provide('keycloak', keycloak.url);
    project.provide('engine', engine.url);
    project.provide('engineFolder', join(folder, 'engine'));
  } catch (err) {
    await stop();
    throw err;
  }
  return stop;
}

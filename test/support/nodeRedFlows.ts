// The example flows of Node-RED, read as their user would import them.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './sources.ts';

export interface FlowNode {
  readonly id: string;
  readonly type: string;
  readonly name?: string;
  readonly topic?: string;
  readonly wires?: readonly (readonly string[])[];
  readonly [property: string]: unknown;
}

const FOLDER = join(ROOT, 'examples/node-red');

/** By the name of the file. */
export const exampleFlows = (): ReadonlyMap<string, readonly FlowNode[]> =>
  new Map(
    readdirSync(FOLDER)
      .sort()
      .map((file) => [file, JSON.parse(readFileSync(join(FOLDER, file), 'utf8'))]),
  );

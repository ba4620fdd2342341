// Writes every generated page: the example, the two references and the JSON Schemas. Run by `npm run docs` in the root of the project.
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { configReference } from './configuration.ts';
import { exampleConfig } from './example.ts';
import { schemaFiles } from './schemas.ts';
import { topicReference } from './topics.ts';

const SCHEMAS = 'docs/schemas';

await writeFile('config.example.yaml', exampleConfig());
await writeFile('docs/configuration.md', configReference());
await writeFile('docs/topics.md', topicReference());
await mkdir(SCHEMAS, { recursive: true });
const files = schemaFiles();
for (const file of await readdir(SCHEMAS)) if (!(file in files)) await rm(`${SCHEMAS}/${file}`);
for (const [file, text] of Object.entries(files)) await writeFile(`${SCHEMAS}/${file}`, text);

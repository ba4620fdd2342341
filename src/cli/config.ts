// heat2mqtt config example|schema|show.
import { readFile } from 'node:fs/promises';
import { showConfig } from '../config/commented.ts';
import { configJsonSchema } from '../config/keys.ts';
import { EXIT } from '../foundation/failure.ts';
import { wrongOption } from './command.ts';
import type { Command } from './commands.ts';
import { printJson } from './printing.ts';
import { loadSettings } from './settings.ts';

/** The same way from here as from the chunk of the bundle that this is in. */
const EXAMPLE = new URL('../../config.example.yaml', import.meta.url);

export const config: Command<'config'> = async (given, io) => {
  const [word = ''] = given.words;
  if (word === 'example') io.out(await readFile(EXAMPLE, 'utf8'));
  else if (word === 'schema') printJson(configJsonSchema(), io);
  else if (word === 'show') io.out(showConfig(await loadSettings(given, io)));
  else throw wrongOption('config', word, 'example, schema, show');
  return EXIT.fine;
};

// heat2mqtt config example|schema|show.
import { exampleConfig } from '../config/example.ts';
import { configJsonSchema } from '../config/keys.ts';
import { showConfig } from '../config/show.ts';
import { EXIT } from '../foundation/failure.ts';
import { type Command, wrongOption } from './command.ts';
import { printJson } from './printing.ts';
import { loadSettings } from './settings.ts';

export const config: Command = async (given, io) => {
  const [word = ''] = given.words;
  if (word === 'example') io.out(exampleConfig());
  else if (word === 'schema') printJson(configJsonSchema(), io);
  else if (word === 'show') io.out(showConfig(await loadSettings(given, io)));
  else throw wrongOption('config', word, 'example, schema, show');
  return EXIT.fine;
};

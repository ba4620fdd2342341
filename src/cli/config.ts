// heat2mqtt config example|schema|show.
import { exampleConfig } from '../config/example.ts';
import { configJsonSchema } from '../config/keys.ts';
import { showConfig } from '../config/show.ts';
import { EXIT } from '../foundation/failure.ts';
import { type Command, wrongUsage } from './command.ts';
import { printJson } from './printing.ts';
import { loadSettings } from './settings.ts';

export const config: Command = async (given, io) => {
  const word = given.words.join(' ').slice(0, 40) || 'nothing';
  if (word === 'example') io.out(exampleConfig());
  else if (word === 'schema') printJson(configJsonSchema(), io);
  else if (word === 'show') io.out(showConfig(await loadSettings(given, io)));
  else throw wrongUsage(`config takes one word: example, schema or show; found: ${word}.`);
  return EXIT.fine;
};

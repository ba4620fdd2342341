// heat2mqtt config example|schema|show.
import { exampleConfig } from '../config/example.ts';
import { configJsonSchema } from '../config/keys.ts';
import { showConfig } from '../config/show.ts';
import { EXIT } from '../foundation/failure.ts';
import { type Command, wrongUsage } from './command.ts';
import { printJson } from './printing.ts';
import { loadSettings } from './settings.ts';

export const config: Command = async (given, io) => {
  const [word, ...rest] = given.words;
  if (rest.length > 0) throw wrongUsage('config takes one word: example, schema or show.');
  if (word === 'example') {
    io.out(exampleConfig());
  } else if (word === 'schema') {
    printJson(configJsonSchema(), io);
  } else if (word === 'show') {
    io.out(showConfig(await loadSettings(given, io)));
  } else {
    const found = word === undefined ? 'nothing' : word.slice(0, 40);
    throw wrongUsage(`config takes one word: example, schema or show; found: ${found}.`);
  }
  return EXIT.fine;
};

// heat2mqtt config example|schema|show.
import { EXIT } from '../foundation/failure.ts';
import { type Command, WrongUsage } from './command.ts';

export const config: Command = async (given, io) => {
  const [word, ...rest] = given.words;
  if (rest.length > 0) throw new WrongUsage('config takes one word: example, schema or show.');
  if (word === 'example') {
    io.out((await import('../config/example.ts')).exampleConfig());
  } else if (word === 'schema') {
    const { configJsonSchema } = await import('../config/jsonSchema.ts');
    io.out(`${JSON.stringify(configJsonSchema(), null, 2)}\n`);
  } else if (word === 'show') {
    const { loadSettings } = await import('./settings.ts');
    const { showConfig } = await import('../config/show.ts');
    io.out(showConfig(await loadSettings(given, io)));
  } else {
    const found = word === undefined ? 'nothing' : word.slice(0, 40);
    throw new WrongUsage(`config takes one word: example, schema or show; found: ${found}.`);
  }
  return EXIT.fine;
};

// heat2mqtt mcp: answers an assistant's questions on standard input and output, from what is on this disk.
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { EXIT } from '../foundation/failure.ts';
import { loadHousehold } from './account.ts';
import type { Command } from './commands.ts';
import { readDisk } from './mcp/disk.ts';
import { answerLine } from './mcp/protocol.ts';
import { toolsOf } from './mcp/tools.ts';

/** The configuration is read with the first question: clients start a server twice, and a start is to cost nothing. */
export const mcp: Command<'mcp'> = async (given, io) => {
  const tools = toolsOf(async () => readDisk(await loadHousehold(given, io), io));
  const lines = createInterface({ input: process.stdin, signal: io.interrupted });
  let last: Promise<void> = Promise.resolve();
  lines.on('line', (line) => {
    if (line.trim() === '') return;
    // Answers keep the order of the questions: a client may take the first one for that to its first question.
    last = last.then(async () => {
      const answer = await answerLine(line, tools);
      if (answer !== null) io.out(`${JSON.stringify(answer)}\n`);
    });
  });
  await once(lines, 'close');
  await last;
  return EXIT.fine;
};

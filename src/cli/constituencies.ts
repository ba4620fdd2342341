// heat2mqtt constituencies: asks for the public list and prints it. Needs neither account nor broker.
import { PublicList } from '../daemon/requests/publicList.ts';
import { type Constituency, caveat } from '../domain/constituency.ts';
import { systemClock } from '../foundation/clock.ts';
import { EXIT } from '../foundation/failure.ts';
import type { Arguments, Command } from './command.ts';
import type { Io } from './io.ts';
import { type Format, formatFrom, printCsv, printTable } from './printing.ts';
import { loadSettings } from './settings.ts';

export const constituencies: Command = async (given, io) => {
  const format = formatFrom(given.options.format, io);
  const { config } = await loadSettings(given, io, { assumeConstituencies: true });
  if (!config.constituencies) throw new TypeError('the configuration did not assume constituencies');
  const publicList = new PublicList(config.constituencies, systemClock);
  const flagOf = (parameter: string) => `--${parameter.replace('_', '-')}`;
  const { question } = publicList.understand(parametersFrom(given.options), flagOf);
  const list = await publicList.fetch(question, io.interrupted);
  const warning = caveat(list);
  if (warning !== null) io.err(`${warning}\n`);
  if (list.constituencies === null) {
    // Rows cannot be made of an unknown shape.
    io.out(`${JSON.stringify(list.raw, null, 2)}\n`);
    return format === 'json' ? EXIT.fine : EXIT.provider;
  }
  print(list.constituencies, format, io);
  return EXIT.fine;
};

/** As a request would bring it; whatever is no number stays text, and is refused as that. */
function parametersFrom(options: Arguments['options']): Record<string, unknown> {
  const number = (text: unknown) =>
    typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : text;
  return {
    chamber: options.chamber,
    house_no: number(options['house-no']),
    chamber_id: options['chamber-id'],
    skip: number(options.skip),
    limit: number(options.limit),
  };
}

function print(rows: readonly Constituency[], format: Format, io: Io): void {
  if (format === 'json') {
    const records = rows.map(({ house: { houseNo, ...house }, ...row }) => ({
      ...row,
      house: { ...house, house_no: houseNo },
    }));
    io.out(`${JSON.stringify(records, null, 2)}\n`);
  } else if (format === 'csv') {
    const heads = ['uri', 'name', 'code', 'type', 'chamber', 'house_no', 'house_name', 'house_uri'];
    const cells = rows.map(({ uri, name, code, type, house }) => [
      ...[uri, name, code, type],
      ...[house.chamber, house.houseNo, house.name, house.uri],
    ]);
    printCsv(heads, cells, io);
  } else {
    const cells = rows.map(({ name, type, code, house }) =>
      [name, type, house.name, code].map((cell) => cell && printable(cell)),
    );
    printTable(['Name', 'Type', 'House', 'Code'], cells, io);
    io.out(`${rows.length} in all\n`);
  }
}

/** A name from outside must not be able to command the terminal. */
const printable = (text: string): string => text.replace(/\p{Cc}/gu, ' ');

// heat2mqtt constituencies: asks for the public list and prints it. Needs neither account nor broker.
import { openPublicList } from '../constituencies/publicList.ts';
import { type Constituency, caveat } from '../domain/constituency.ts';
import { EXIT } from '../foundation/failure.ts';
import type { Arguments, Command } from './command.ts';
import { type Column, formatFrom, keyColumns, print, printJson, tableLines } from './printing.ts';
import { loadSettings } from './settings.ts';

export const constituencies: Command = async (given, io) => {
  const format = formatFrom(given.options.format, io);
  const { config } = await loadSettings(given, io, { assumeConstituencies: true });
  if (!config.constituencies) throw new TypeError('the configuration did not assume constituencies');
  const publicList = openPublicList(config.constituencies, io.clock);
  const flagOf = (parameter: string) => `--${parameter.replace('_', '-')}`;
  const asked = publicList.readQuestion(parametersFrom(given.options), flagOf);
  const answered = await publicList.read(asked, io.interrupted);
  const { list } = answered;
  const warning = caveat(answered);
  if (warning !== null) io.err(`${warning}\n`);
  if (list.constituencies === null) {
    // Rows cannot be made of an unknown shape.
    printJson(list.raw, io);
    return format === 'json' ? EXIT.fine : EXIT.provider;
  }
  const records = list.constituencies.map(recordOf);
  const inAll = list.complete ? 'in all' : `of ${list.total ?? 'an unknown number'}`;
  const table = () => [...tableLines(TABLE_COLUMNS, records), `${records.length} ${inAll}`];
  print(format, { records, csv: CSV_COLUMNS, table }, io);
  return EXIT.fine;
};

/** As a request over MQTT would bring them; what is not a number stays text, and is refused as text. */
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

const recordOf = ({ house: { houseNo, ...house }, ...row }: Constituency) => ({
  ...row,
  house: { ...house, house_no: houseNo },
});
type Listed = ReturnType<typeof recordOf>;

const CSV_COLUMNS: readonly Column<Listed>[] = [
  ...keyColumns('uri', 'name', 'code', 'type'),
  { head: 'chamber', value: ({ house }) => house.chamber },
  { head: 'house_no', value: ({ house }) => house.house_no },
  { head: 'house_name', value: ({ house }) => house.name },
  { head: 'house_uri', value: ({ house }) => house.uri },
];
const TABLE_COLUMNS: readonly Column<Listed>[] = [
  { head: 'Name', value: ({ name }) => name },
  { head: 'Type', value: ({ type }) => type },
  { head: 'House', value: ({ house }) => house.name },
  { head: 'Code', value: ({ code }) => code },
];

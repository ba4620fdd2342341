// heat2mqtt constituencies: asks for the public list and prints it. Needs neither account nor broker.
import { constituencyRecord } from '../constituencies/lists.ts';
import { openPublicList } from '../constituencies/publicList.ts';
import { caveat } from '../domain/constituency.ts';
import { EXIT } from '../foundation/failure.ts';
import type { Command, Given } from './commands.ts';
import { formatFrom, print, printJson, tableLines } from './printing.ts';
import { loadSettings } from './settings.ts';

export const constituencies: Command<'constituencies'> = async (given, io) => {
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
  const records = list.constituencies.map(constituencyRecord);
  const rows = records.map(({ house: { chamber, house_no, name: house_name, uri: house_uri }, ...row }) => {
    return { ...row, chamber, house_no, house_name, house_uri };
  });
  const inAll = list.complete ? 'in all' : `of ${list.total ?? 'an unknown number'}`;
  const table = () => [...tableLines(COLUMNS, rows), `${records.length} ${inAll}`];
  print(format, { records, rows, csv: CSV, table }, io);
  return EXIT.fine;
};

/** The same as a request over MQTT would bring; what is not a number stays text, and is refused as text. */
function parametersFrom(options: Given<'constituencies'>['options']): Record<string, unknown> {
  const number = (text?: string) => (/^\d{1,15}$/.test(text ?? '') ? Number(text) : text);
  return {
    chamber: options.chamber,
    house_no: number(options['house-no']),
    chamber_id: options['chamber-id'],
    skip: number(options.skip),
    limit: number(options.limit),
  };
}

const CSV = ['uri', 'name', 'code', 'type', 'chamber', 'house_no', 'house_name', 'house_uri'];
const COLUMNS = { Name: 'name', Type: 'type', House: 'house_name', Code: 'code' } as const;

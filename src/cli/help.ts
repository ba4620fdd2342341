// The help, from the table of commands.
import { about } from '../foundation/about.ts';
import { COMMANDS, type CommandName, type CommandRow } from './commands.ts';
import { wrapped } from './printing.ts';

/** Any terminal has so many columns, and a page of the help no more of them. */
const WIDTH = 80;
/** A left column as wide as the widest of its cells would leave no room for what they mean. */
const WIDEST_LEFT = 24;

/** `null`: an overview of all commands. */
export function helpText(name: CommandName | null, room: number): string {
  const width = Math.min(room, WIDTH);
  return name === null ? overview(width) : helpOf(name, COMMANDS[name], width);
}

const overview = (
  width: number,
) => `${about.name} ${about.version}: heat meter readings to MQTT, Home Assistant and Node-RED

Usage: ${about.name} [command] [options]

${columns(
  Object.entries(COMMANDS).map(([name, row]) => [shortUsage(name, row), row.summary]),
  width,
)}

${wrapped(`${about.name} COMMAND --help tells the options of a command. --version prints the version.`, width)}
${wrapped(EXIT_CODES, width)}
`;

const EXIT_CODES =
  'Exit codes: 0 fine, 1 unexpected fault, 2 wrong usage, 3 configuration invalid, 4 credentials refused, 5 provider unreachable, 6 broker unreachable, 7 Home Assistant unreachable.';

const usageOf = (name: string, { words }: CommandRow): string =>
  words === undefined ? name : `${name} ${words.shown}`;

function shortUsage(name: string, row: CommandRow): string {
  const usage = usageOf(name, row);
  return usage.length > WIDEST_LEFT ? `${name} …` : usage;
}

function helpOf(name: string, row: CommandRow, width: number): string {
  const head = wrapped(`${about.name} ${usageOf(name, row)}: ${row.summary}`, width);
  const rows = Object.entries(row.options).map(
    ([option, { shown, means }]) => [`--${option}${shown === undefined ? '' : ` ${shown}`}`, means] as const,
  );
  return `${head}\n\n${columns(rows, width)}\n`;
}

/** An entry that is too wide for the left column has a line of its own. */
function columns(rows: readonly (readonly [string, string])[], width: number): string {
  const lefts = rows.map(([left]) => left.length).filter((length) => length <= WIDEST_LEFT);
  const indent = ' '.repeat(Math.max(0, ...lefts) + 4);
  return rows
    .map(([left, right]) => {
      const text = wrapped(indent + right, width);
      const start = `  ${left}`.padEnd(indent.length);
      return start.length > indent.length ? `${start}\n${text}` : start + text.slice(start.length);
    })
    .join('\n');
}

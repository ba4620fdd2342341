// All documents of a state directory at once: as they were at one moment, and put in the place of all others.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, failure } from '../foundation/failure.ts';
import {
  announcedCodec,
  constituenciesCodec,
  contextCodec,
  extrasCodec,
  installationCodec,
  journalCodec,
  loginBudgetCodec,
  repliesCodec,
  temperaturesCodec,
  tokensCodec,
  wayInCodec,
} from './documents.ts';
import { ledgerCodec } from './ledgerDocument.ts';
import { pathsBelow } from './privateFiles.ts';
import { restoreDocuments } from './restoring.ts';
import type { Codec } from './stateStore.ts';

/** Parsed JSON, by names such as `accounts/home/tokens`. */
export type Documents = Readonly<Record<string, unknown>>;

const CODECS: readonly (readonly [RegExp, Pick<Codec<unknown>, 'decode'>])[] = [
  [/^installation$/, installationCodec],
  [/^announced$/, announcedCodec],
  [/^journal$/, journalCodec],
  [/^replies$/, repliesCodec],
  // Version 0.1.0 kept it; it is not read any more.
  [/^sitting-house$/, { decode: (json) => json }],
  [/^outdoor-temperatures$/, temperaturesCodec],
  [/^constituencies\/[\w-]{1,100}$/, constituenciesCodec],
  [/^accounts\/[a-z0-9_-]{1,64}\/tokens$/, tokensCodec],
  [/^accounts\/[a-z0-9_-]{1,64}\/login-budget$/, loginBudgetCodec],
  [/^accounts\/[a-z0-9_-]{1,64}\/way-in$/, wayInCodec],
  [/^accounts\/[a-z0-9_-]{1,64}\/context$/, contextCodec],
  [/^accounts\/[a-z0-9_-]{1,64}\/extras$/, extrasCodec],
  [/^accounts\/[a-z0-9_-]{1,64}\/ledger-[\w.!~*'()%-]{1,200}$/, ledgerCodec],
];

const isKnown = (name: string): boolean => CODECS.some(([shape]) => shape.test(name));

/** The names of what this version cannot use: of another name or version, or damaged. */
export const notUnderstood = (documents: Documents): string[] =>
  Object.entries(documents).flatMap(([name, json]) => {
    try {
      const [, codec] = CODECS.find(([shape]) => shape.test(name)) ?? [];
      codec?.decode(json);
      return codec ? [] : [name];
    } catch {
      return [name];
    }
  });

/** Of documents that are understood. `newestAt`: when a reading was received or a poll went well last, epoch milliseconds. */
export function summary(documents: Documents) {
  const ledgers = Object.entries(documents)
    .filter(([name]) => name.includes('/ledger-'))
    .map(([, json]) => [...ledgerCodec.decode(json).ledger.days.values()]);
  const accounts = documents.journal ? Object.values(journalCodec.decode(documents.journal).accounts) : [];
  const instants = [
    ...accounts.map(({ lastSuccessAt }) => lastSuccessAt ?? 0),
    ...ledgers.flat().map(({ receivedAt }) => receivedAt),
  ];
  return {
    meters: ledgers.length,
    days: ledgers.flat().length,
    newestAt: instants.reduce((one, other) => Math.max(one, other), 0),
  };
}

const picked = (documents: Documents, shape: RegExp): Documents =>
  Object.fromEntries(Object.entries(documents).filter(([name]) => shape.test(name)));

export const tokensIn = (documents: Documents): Documents => picked(documents, /\/tokens$/);
/** Each with a hash of the refused password. */
export const loginBudgetsIn = (documents: Documents): Documents => picked(documents, /\/login-budget$/);

/** All but the tokens. A login budget stays, since a restore must not buy a try; its hash of the password does not. */
export function plainPart(documents: Documents): Documents {
  const tokens = tokensIn(documents);
  const budgets = Object.entries(loginBudgetsIn(documents));
  const rest = Object.entries(documents).filter(([name]) => !Object.hasOwn(tokens, name));
  const marked = budgets.map(([name, json]) => [name, { ...Object(json), secretMark: null }]);
  return { ...Object.fromEntries(rest), ...Object.fromEntries(marked) };
}

const stateUnreadable = (directory: string, cause: NodeJS.ErrnoException) =>
  failure(
    'state_unreadable',
    `The state directory cannot be read: ${directory} (${cause.code ?? 'unknown error'}).`,
    {
      exit: EXIT.unexpected,
      retry: 'never',
      hint: 'Run the command as the user that the daemon runs as, or as root.',
      cause,
    },
  );

const stateRestless = (directory: string) =>
  failure('state_restless', `The state directory keeps changing: ${directory}.`, {
    exit: EXIT.unexpected,
    retry: 'soon',
    hint: 'Try again.',
  });

const MOST_LOOKS = 50;
const LOOK_MS = 100;

/**
 * Each document is replaced whole, but several belong together, such as journal and ledgers. They are read until two
 * looks in a row find the same: that is how they all were between the two. Text that is no JSON is given as text.
 * Rejects with state_unreadable or state_restless.
 */
export async function readDocuments(directory: string, clock: Clock): Promise<Documents> {
  let before: string | null = null;
  for (let look = 0; look < MOST_LOOKS; look += 1) {
    const found = await readOnce(directory).catch((err) => {
      throw stateUnreadable(directory, err);
    });
    const now = JSON.stringify(found);
    if (now === before) return Object.fromEntries(found.map(([name, text]) => [name, parsed(text)]));
    before = now;
    await clock.sleep(LOOK_MS);
  }
  throw stateRestless(directory);
}

async function readOnce(directory: string): Promise<[string, string][]> {
  const found: [string, string][] = [];
  for (const name of await namesIn(directory)) {
    const text = await readFile(join(directory, `${name}.json`), 'utf8').catch(unlessGone);
    if (text !== null) found.push([name, text]);
  }
  return found;
}

async function namesIn(directory: string): Promise<string[]> {
  const files = (await pathsBelow(directory).catch(unlessGone)) ?? [];
  return files
    .flatMap((file) => /^(.+)\.json$/.exec(file)?.[1] ?? [])
    .filter(isKnown)
    .sort();
}

function unlessGone(err: NodeJS.ErrnoException): null {
  if (err.code === 'ENOENT') return null;
  throw err;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Puts these documents in the place of all others. Rejects with state_unwritable. */
export const replaceDocuments = async (directory: string, documents: Documents): Promise<void> =>
  restoreDocuments(directory, {
    write: documents,
    remove: (await namesIn(directory)).filter((name) => !Object.hasOwn(documents, name)),
  });

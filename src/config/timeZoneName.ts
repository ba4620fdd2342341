// The name of a time zone in the upper and lower case of the IANA database: the provider's search engine takes no other.

/** `null`: there is no such time zone. */
function resolved(name: string): string | null {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return null;
  }
}

export const isTimeZone = (name: string): boolean => resolved(name) !== null;

/** Aliases that are not written as `Region/Two_Words`. The runtime knows these names, and tells only what they stand for. */
const OTHERWISE_WRITTEN = [
  'America/Argentina/ComodRivadavia',
  'America/Knox_IN',
  'Australia/ACT',
  'Australia/LHI',
  'Australia/NSW',
  'Brazil/DeNoronha',
  'Chile/EasterIsland',
  'GB',
  'GB-Eire',
  'Mexico/BajaNorte',
  'Mexico/BajaSur',
  'NZ',
  'NZ-CHAT',
  'PRC',
  'ROC',
  'ROK',
  'W-SU',
];
/** Abbreviations, such as `EST5EDT` and `Etc/GMT+5`. */
const ABBREVIATION = /^(etc\/)?(cet|eet|met|wet|hst|uct|utc|gmt([+-]?\d+)?|[cemp]st(\d[cemp]dt)?)$/i;

/** The database's spelling. An alias stays one: `asia/kolkata` is Asia/Kolkata, though the runtime says Asia/Calcutta. */
export function properTimeZone(name: string): string {
  const isMeant = (other: string | null) => other?.toLowerCase() === name.toLowerCase();
  const proper = [resolved(name), ...OTHERWISE_WRITTEN].find(isMeant);
  if (proper) return proper;
  if (ABBREVIATION.test(name)) return name.toUpperCase().replace('ETC/', 'Etc/');
  const inWords = name.toLowerCase().replace(/(?<=^|[/_-])[a-z]/g, (letter) => letter.toUpperCase());
  return inWords.replace(/^Us(?=\/)/, 'US');
}

// What the demo says of the messages it sees: one sentence on the meter, and a line for each publication that matters.

type Said = Readonly<Record<string, unknown>>;

export const NO_READING = 'There is no reading yet.';

/** Of the state of a meter: its newest day, and its month. */
export function meterSentence(state: Said): string {
  if (typeof state.day !== 'string') return NO_READING;
  const month = amounts(state.energy_month, state.cost_month);
  const forecast = money(state.cost_month_forecast);
  return [
    `${dayWords(state.day)}: ${amounts(state.energy_day, state.cost_day)}.`,
    ...(month === '' ? [] : [`This month so far: ${month}.`]),
    ...(forecast === '' ? [] : [`About ${forecast} by its end.`]),
  ].join(' ');
}

/** On a message, by its topic below the base topic; `null` where it is nothing to tell. */
export function sentenceOn(name: string, payload: Said): string | null {
  if (name === 'bridge/health') return healthSentence(payload);
  if (name.endsWith('/event')) return eventSentence(payload);
  if (name.startsWith('bridge/response/')) return answerSentence(name.split('/')[2] ?? '', payload);
  return null;
}

function healthSentence({ state, reasons }: Said): string {
  const [reason] = asList(reasons);
  return `Health: ${state}${reason ? `. ${asSaid(reason).message}` : '.'}`;
}

const HAPPENED: Readonly<Record<string, string>> = {
  corrected: 'A day was corrected',
  new_day: 'A new day has come',
};

function eventSentence(event: Said): string {
  const { event_type, message, day, energy_kwh, cost_eur, old_energy_kwh, old_cost_eur } = event;
  if (typeof message === 'string') return message;
  const type = String(event_type);
  const happened = HAPPENED[type] ?? `Event ${type.replaceAll('_', ' ')}`;
  const what = `${happened}${day ? `: ${dayWords(day)}` : ''}`;
  const now = amounts(energy_kwh, cost_eur);
  const before = amounts(old_energy_kwh, old_cost_eur);
  return `${what}${now && `, ${now}`}${before && `, before that ${before}`}.`;
}

function answerSentence(request: string, { status, data, error }: Said): string {
  const { topic, count, next_at } = asSaid(data);
  const more = [
    ...(typeof topic === 'string' ? [`${count} on ${topic}`] : []),
    ...(next_at ? [`possible again at ${timeWords(next_at)}`] : []),
    ...(error ? [String(asSaid(error).message)] : []),
  ];
  return `Answer to the request ${request}: ${[status, ...more].join(', ').replace(/\.$/, '')}.`;
}

const amounts = (kwh: unknown, eur: unknown): string =>
  [typeof kwh === 'number' ? `${kwh.toFixed(1)} kWh` : '', money(eur)]
    .filter((text) => text !== '')
    .join(', ');

const money = (eur: unknown): string => (typeof eur === 'number' ? `${eur.toFixed(2)} EUR` : '');

/** `Friday 20 November`. */
function dayWords(day: unknown): string {
  const at = new Date(`${day}T00:00:00Z`);
  const word = (options: Intl.DateTimeFormatOptions) =>
    at.toLocaleDateString('en', { ...options, timeZone: 'UTC' });
  return `${word({ weekday: 'long' })} ${at.getUTCDate()} ${word({ month: 'long' })}`;
}

/** The time of day here. */
export const timeWords = (at: unknown): string => new Date(String(at)).toTimeString().slice(0, 8);

const asSaid = (value: unknown): Said => (typeof value === 'object' && value !== null ? { ...value } : {});
const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

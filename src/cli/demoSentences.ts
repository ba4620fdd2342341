// A subscriber sees this while the demo runs, as sentences: the first reading, then each publication that matters.
import { systemClock } from '../foundation/clock.ts';
import { openConnection } from '../mqtt/opening.ts';
import type { Io } from './command.ts';

/** The base topic of the demo. */
export const BASE = 'heat2mqtt';
const LONGEST_WAIT_MS = 20_000;
const BILL_WAIT_MS = 2_000;
const NO_READING = 'There is no reading yet.';
const HEALTH = 'Health: ';

type Message = Readonly<Record<string, unknown>>;

/** Sees what every subscriber would see. */
export async function watch(url: string, { interrupted }: Io) {
  let hear = (_topic: string, _message: Message) => {};
  const first = new Promise<string>((resolve) => {
    const states: { meter?: Message; account?: Message } = {};
    const tell = () => states.meter && resolve(meterSentence(states.meter, states.account ?? {}));
    hear = (topic, message) => {
      const [, kind] = /(meter|account)\/[^/]+\/state$/.exec(topic) ?? [];
      if (kind === 'meter' || kind === 'account') states[kind] = message;
      // Bills are read after the days.
      if (typeof states.account?.invoice_forecast === 'number') tell();
      else if (kind === 'meter') void systemClock.sleep(BILL_WAIT_MS, interrupted).then(tell);
    };
  });
  const connection = await openConnection(
    { url, versions: [4], clientId: 'heat2mqtt_demo_watcher', tls: { rejectUnauthorized: true } },
    systemClock,
    {
      onMessage({ topic, payload }) {
        const text = payload.toString('utf8');
        // bridge/state is plain text.
        if (text.startsWith('{')) hear(topic, JSON.parse(text));
      },
    },
  );
  await connection.subscribe([{ filter: `${BASE}/#` }]);
  const patience = systemClock.sleep(LONGEST_WAIT_MS, interrupted).then(() => NO_READING);
  return {
    /** It is about the meter, or says after a while that there is no reading yet. */
    sentence: Promise.race([first, patience]),
    /** Each publication that matters is told from now on. */
    tell(out: (line: string) => void) {
      let health = '';
      hear = (topic, message) => {
        const line = sentenceOn(topic.slice(BASE.length + 1), message);
        // Health is published with each poll, and told when it has changed.
        if (line === null || line === health) return;
        if (line.startsWith(HEALTH)) health = line;
        out(`${timeOfDay(new Date())}  ${line}  [${topic}]\n`);
      };
    },
    close: () => connection.close(200),
  };
}

/** A meter's state is told by its newest day and its month, with the bill of that month if that is the account's next bill. */
export function meterSentence(state: Message, account: Message): string {
  if (typeof state.day !== 'string') return NO_READING;
  const month = amounts(state.energy_month, state.cost_month, ' This month so far: ', '.');
  const isBillOfMonth = String(account.invoice_forecast_to).slice(0, 7) === state.day.slice(0, 7);
  const bill = isBillOfMonth ? amounts(null, account.invoice_forecast, ', as a bill ') : '';
  const forecast = amounts(null, state.cost_month_forecast, ' About ', ` by its end${bill}.`);
  return `${dayWords(state.day)}: ${amounts(state.energy_day, state.cost_day)}.${month}${forecast}`;
}

/** `name`: the topic below the base topic. `null`: there is nothing to tell. */
export function sentenceOn(name: string, message: Message): string | null {
  if (name === 'bridge/health') {
    const [reason] = Array.isArray(message.reasons) ? message.reasons : [];
    return `${HEALTH}${message.state}.${reason ? ` ${Object(reason).message}` : ''}`;
  }
  if (name.endsWith('/event')) return eventSentence(message);
  const [, request] = /^bridge\/response\/(.*)/.exec(name) ?? [];
  return request === undefined ? null : answerSentence(request, message);
}

const HAPPENED: Readonly<Record<string, string>> = {
  corrected: 'A day was corrected',
  new_day: 'A new day has come',
};

function eventSentence(event: Message): string {
  if (typeof event.message === 'string') return event.message;
  const type = String(event.event_type);
  const day = event.day ? `: ${dayWords(event.day)}` : '';
  const now = amounts(event.energy_kwh, event.cost_eur, ', ');
  const before = amounts(event.old_energy_kwh, event.old_cost_eur, ', before that ');
  return `${HAPPENED[type] ?? `Event ${type.replaceAll('_', ' ')}`}${day}${now}${before}.`;
}

function answerSentence(request: string, { status, data, error }: Message): string {
  const { topic, count, next_at } = Object(data);
  const list = typeof topic === 'string' ? `, ${count} on ${topic}` : '';
  const next = next_at ? `, possible again at ${timeOfDay(next_at)}` : '';
  const why = error ? `, ${Object(error).message}` : '';
  return `Answer to the request ${request}: ${status}${list}${next}${why}`.replace(/\.?$/, '.');
}

/** `11.0 kWh, 2.06 EUR`, or as much of it as is known, between these; nothing where none is. */
function amounts(kwh: unknown, eur: unknown, before = '', after = ''): string {
  const energy = typeof kwh === 'number' ? [`${kwh.toFixed(1)} kWh`] : [];
  const cost = typeof eur === 'number' ? [`${eur.toFixed(2)} EUR`] : [];
  const words = [...energy, ...cost].join(', ');
  return words && `${before}${words}${after}`;
}

/** `Friday 20 November`. */
function dayWords(day: unknown): string {
  const at = new Date(`${day}T00:00:00Z`);
  const [weekday, month] = (['weekday', 'month'] as const).map((part) =>
    at.toLocaleDateString('en', { [part]: 'long', timeZone: 'UTC' }),
  );
  return `${weekday} ${at.getUTCDate()} ${month}`;
}

/** The time of day here. */
export const timeOfDay = (at: unknown): string => new Date(String(at)).toTimeString().slice(0, 8);

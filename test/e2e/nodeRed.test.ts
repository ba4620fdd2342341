// The example flows in a real Node-RED beside a real Mosquitto and the built program: each puts out what its comment promises.
import { expect, test } from 'vitest';
import { SAMPLES } from '../../scripts/docs/samples.ts';
import type { ExplicitEvent } from '../../src/simulator/meter.ts';
import { home, METER, PROPERTY, person, STATE } from '../support/homes.ts';
import { waitFor } from '../support/waitFor.ts';
import { hasDashboard, isThere, startNodeRed } from './nodeRed.ts';
import { openHomeWithBroker } from './program.ts';

const DAY_MS = 86_400_000;
const DAYS_KNOWN = 70;
const LIST = 'heat2mqtt/constituencies/dail/34';

if (!isThere)
  process.stderr.write('\n!! LEFT OUT: the Node-RED flows; NODE_RED_FOLDER names no Node-RED\n\n');
else if (!hasDashboard)
  process.stderr.write('\n!! LEFT OUT: the flow for Dashboard 2.0; it is not beside the Node-RED\n\n');

/** No bill comes while a test runs. */
const [BILL] = SAMPLES['account/<account>/event'];

const today = Math.floor(Date.now() / DAY_MS);
const on = (day: number, kwh: number, eur: number): ExplicitEvent => ({
  at: day * DAY_MS + 30 * 60_000,
  kwh,
  eur,
});

test.skipIf(!isThere)(
  'cost alert, corrected day, new bill, daily summary, constituencies, MQTT 5, monthly chart, dashboard',
  async () => {
    const events = Array.from({ length: DAYS_KNOWN }, (_, at) => on(today - 1 - DAYS_KNOWN + at, 8, 1.678));
    const me = person('me', [home(METER, { events }, PROPERTY)]);
    const { stack, broker, simulator, configure, listen, start } = await openHomeWithBroker(me);
    const probe = await listen();
    const red = await startNodeRed(stack, broker.port);
    const config = await configure({
      usage: {
        history_since: new Date((today - 1 - DAYS_KNOWN) * DAY_MS).toISOString().slice(0, 10),
        // They are dated half past midnight, of the day that they are about.
        reading_closes: 'same_day',
      },
      constituencies: { base_url: simulator.urls.constituencies },
      meters: { [METER]: { name: 'Flat 3' } },
    });
    start(config);
    const tapped = async (name: string) => {
      const find = () => probe.last(`tap/${name}`)?.payload;
      return waitFor(`the flow to show "${name}"`, find, {
        diagnose: () => ({
          red: red.said().slice(-3_000),
          topics: [...new Set(probe.heard.map((one) => one.topic))],
        }),
      });
    };

    const shows = (name: string, text: string) =>
      waitFor(
        `the dashboard to show "${text}" as ${name}`,
        () => probe.last(`tap/${name}`)?.payload === text,
        {
          diagnose: () => [probe.last(`tap/${name}`)?.payload, red.said().slice(-3_000)],
        },
      );
    const lookAtDashboard = async (dashboard: Awaited<ReturnType<typeof red.openDashboard>>) => {
      expect(await dashboard.page()).toContain('<title>');
      const { energy_month, cost_month, ...state } = (await probe.until(
        STATE,
        ({ energy_day }) => energy_day === 31.25,
      )) as Record<string, number | string | null>;
      await shows('Latest day', '31.3 kWh · 4.56 EUR');
      await shows(
        'This month so far',
        `${Number(energy_month).toFixed(1)} kWh · ${Number(cost_month).toFixed(2)} EUR`,
      );
      expect(state.energy_month_last_year).toBeNull();
      await shows('Same month last year', 'kWh not known · EUR not known');
      await shows('State', 'OK');
      const bars = () => JSON.parse(probe.last('tap/bars')?.payload ?? '[]');
      await waitFor('a bar of the new day', () => bars().at(-1)?.y === 31.25);
      expect(bars()).toHaveLength(31);
      await dashboard.act('widget-change', 'h2m-dashboard-quantity', 'cost_eur');
      await waitFor('bars of cost', () => bars().at(-1)?.y === 4.561);
      await dashboard.act('widget-change', 'h2m-dashboard-interval', 'month');
      await waitFor('bars of months', () => bars()[0]?.x === 'Jan');
      expect(bars().filter(({ y }: { y: number | null }) => y !== null)).toHaveLength(months.length);

      // It was polled a moment ago.
      await dashboard.act('widget-action', 'h2m-dashboard-poll', null);
      const answer = await probe.until(
        'heat2mqtt/bridge/response/refresh',
        ({ transaction }) => transaction === 'node-red-dashboard',
      );
      const { next_at } = answer.data as { next_at: string };
      await shows('Answer', `Skipped: asked too soon. Possible again at ${next_at.slice(11, 16)}.`);
    };

    const months: { month: string; energy_kwh: number; cost_eur: number }[] = JSON.parse(
      await tapped('chart data'),
    );
    expect(months.map(({ month }) => month)).toEqual([...new Set(months.map(({ month }) => month))].sort());
    expect(months.reduce((sum, { energy_kwh }) => sum + energy_kwh, 0)).toBeCloseTo(DAYS_KNOWN * 8, 3);
    const picture = (query = '') => fetch(`${red.url}/heat2mqtt/months.svg${query}`);
    const drawing = await waitFor('the meter by its name', async () => {
      const reply = await picture('?meter=Flat%203');
      return reply.ok && reply;
    });
    expect(drawing.headers.get('content-type')).toContain('image/svg+xml');
    const drawn = await drawing.text();
    expect(await (await picture(`?meter=${METER}`)).text()).toBe(drawn);
    // A bar for energy and one for cost; the last month is not over yet, unless the newest reading closes it.
    expect(drawn.split('<title>')).toHaveLength(2 * months.length + 1);
    for (const { month, energy_kwh, cost_eur } of months) {
      const [year, name] = [
        month.slice(0, 4),
        new Date(month).toLocaleString('en', { month: 'short', timeZone: 'UTC' }),
      ];
      expect(drawn).toMatch(new RegExp(`<title>${name} ${year}( so far)?: ${Math.round(energy_kwh)} kWh<`));
      expect(drawn).toMatch(new RegExp(`<title>${name} ${year}( so far)?: ${cost_eur.toFixed(2)} EUR<`));
      expect(drawn).toContain(`>${year}</text>`);
    }
    expect(drawn).toMatch(/class="title"[^>]*>Flat 3</);

    const unknown = await picture('?meter=1<b>');
    expect(unknown.status).toBe(404);
    expect(unknown.headers.get('content-type')).toContain('text/plain');
    expect(await unknown.text()).toBe(`There is no meter "1<b>". These are known:\n- ${METER} (Flat 3)\n`);

    const hostile = 'heat2mqtt/meter/x"<script>&/usage/month';
    const bucket = (month: string, end: string, energy_kwh: number | null) => ({
      start: `${month}-01T00:00:00+00:00`,
      end: `${end}-01T00:00:00+00:00`,
      energy_kwh,
      cost_eur: null,
    });
    const buckets = [
      bucket('2024-12', '2025-01', 0),
      bucket('2025-02', '2025-03', null),
      bucket('2025-03', '2025-04', 5),
    ];
    await probe.publish(hostile, JSON.stringify({ currency: '<EUR>', buckets }));
    const named = `?meter=${encodeURIComponent('x"<script>&')}`;
    const odd = await waitFor('the other meter', async () => {
      const reply = await picture(named);
      return reply.ok ? reply.text() : undefined;
    });
    expect(odd).toContain('>x&#34;&#60;script&#62;&#38;</text>');
    expect(odd).not.toContain('<script');
    expect(odd).not.toContain('<EUR');
    expect(odd.match(/<title>[^<]*/g)).toEqual(['<title>Dec 2024: 0 kWh', '<title>Mar 2025: 5 kWh']);
    await probe.publish(hostile, '');
    await waitFor('the other meter to be gone', async () => (await picture(named)).status === 404);

    const state = await probe.until(STATE, () => true);
    await red.press('h2m-daily-summary-morning');
    const summary = await tapped('daily summary');
    expect(summary).toContain(`Meter ${METER}: 8.0 kWh for 1.68 EUR on ${state.day};`);
    expect(summary).toContain(`this month ${Number(state.energy_month).toFixed(1)} kWh`);

    await red.press('h2m-constituencies-ask');
    const names = await tapped('names of constituencies');
    const { constituencies } = (await probe.until(LIST, () => true)) as {
      constituencies: { name: string }[];
    };
    expect(JSON.parse(names)).toEqual(constituencies.map(({ name }) => name));
    expect(constituencies.length).toBeGreaterThan(10);
    await probe.publish('heat2mqtt/bridge/request/constituencies', '{"chamber":"commons"}');
    expect(await tapped('no list')).toContain('chamber: found "commons"; allowed: dail, seanad');

    expect(probe.on('tap/cost alert')).toEqual([]);
    events.push(on(today - 1, 31.25, 4.561));
    const corrected = on(today - 3, 9.5, 1.96);
    events.splice(-3, 1, corrected);
    await probe.publish('heat2mqtt/bridge/request/refresh', '');
    const newDay = await probe.until(
      `heat2mqtt/meter/${METER}/event`,
      ({ event_type }) => event_type === 'new_day',
    );
    expect(await tapped('cost alert')).toBe(`Heat on ${newDay.day} cost 4.561 EUR (31.25 kWh).`);
    expect(probe.on('tap/cost alert')).toHaveLength(1);
    const correctedDay = new Date(corrected.at).toISOString().slice(0, 10);
    expect(await tapped('corrected day')).toBe(
      `Heat on ${correctedDay} was corrected: from 8 kWh to 9.5 kWh, from 1.678 EUR to 1.96 EUR.`,
    );

    await probe.publish('heat2mqtt/account/home/event', JSON.stringify(BILL));
    expect(await tapped('new bill')).toMatch(
      /^A new bill for 2025-05-01 to 2025-05-31: 48\.12 EUR, to be paid by 2025-06-19\. 48\.12 EUR billed; .*\.$/,
    );

    await red.press('h2m-mqtt5-health');
    expect(await tapped('answer over MQTT 5')).toBe('health: ok');
    await red.press('h2m-mqtt5-refresh');
    await waitFor('the other answer', () =>
      /^refresh: skipped, possible again at \d{4}-/.test(probe.last('tap/answer over MQTT 5')?.payload ?? ''),
    );

    if (hasDashboard) await lookAtDashboard(await red.openDashboard());
    expect(red.said()).not.toMatch(/\[(warn|error)\]/);
  },
  120_000,
);

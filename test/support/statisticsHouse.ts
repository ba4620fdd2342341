// A house whose daemon writes its days into the statistics of a pretend Home Assistant.
import type { ExplicitEvent } from '../../src/simulator/household.ts';
import { HEALTH, home, METER, person, reading } from './homes.ts';
import { openHouse } from './house.ts';
import { startPretendHomeAssistant } from './pretendHomeAssistant.ts';
import { waitFor } from './waitFor.ts';

export const ENERGY = `heat2mqtt:${METER}_energy`;
export const COST = `heat2mqtt:${METER}_cost`;

/** Three days of history in March 2025; whatever else a story wants. */
export const HISTORY = ['2025-03-07', '2025-03-08', '2025-03-09'].map((day) => reading(day, 10, 2.5));

export async function openStatisticsHouse(
  events: readonly ExplicitEvent[] = HISTORY,
  accounts = [person('me', [home(METER, { events: [...events] })])],
) {
  const house = await openHouse({ accounts });
  const ha = house.stack.use(await startPretendHomeAssistant());
  const probe = await house.listen();
  const section = { url: ha.url, token: ha.switches.token };
  let since = 0;
  const toSeconds = (ms: number) => Math.floor(ms / 1000) * 1000;
  const polls = () => house.log.filter(({ msg }) => msg === 'polled').length;

  /** What bridge/health says of the statistics now. */
  const status = () => probe.json(HEALTH)?.statistics as Record<string, unknown> | null | undefined;
  const codes = () => ((probe.json(HEALTH)?.reasons ?? []) as { code: string }[]).map(({ code }) => code);

  const isSo = (wanted: string) => {
    const { state, last_success_at: at } = status() ?? {};
    return state === wanted && (wanted !== 'ok' || Date.parse(String(at)) >= since);
  };
  /** Small steps of time until bridge/health says so; an old success does not count. */
  const until = (wanted: string) =>
    waitFor(
      `statistics ${wanted}`,
      async () => {
        await house.rest();
        if (isSo(wanted)) return true;
        house.clock.advance(50);
        return false;
      },
      { diagnose: () => ({ status: status(), codes: codes(), log: house.log.slice(-5) }) },
    );

  return {
    house,
    ha,
    probe,
    status,
    codes,
    until,
    /** With the usual `home_assistant`, or another one. */
    start: (over: Readonly<Record<string, unknown>> = {}) =>
      house.start({ home_assistant: section, ...over }),
    /** Starts, and waits until the history has been read and written. */
    async settled(over: Readonly<Record<string, unknown>> = {}) {
      since = toSeconds(house.clock.now());
      const daemon = await house.start({ home_assistant: section, ...over });
      await until('ok');
      return daemon;
    },
    async pollAt(time: string, wanted = 'ok') {
      house.clock.advance(Date.parse(time) - house.clock.now());
      since = toSeconds(house.clock.now());
      const before = polls();
      house.tick();
      await house.polled(before + 1);
      await until(wanted);
    },
    /** From now on only a later success counts. */
    mark() {
      house.clock.advance(1_000);
      since = toSeconds(house.clock.now());
    },
  };
}

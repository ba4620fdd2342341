// A story whose daemon writes its days into the statistics of a pretend Home Assistant.
import type { ExplicitEvent } from '../../src/simulator/meter.ts';
import { CANARY } from './canaries.ts';
import { HEALTH, home, METER, person, reading } from './homes.ts';
import { startPretendHomeAssistant } from './pretendHomeAssistant.ts';
import { openStory } from './story.ts';

export const ENERGY = `heat2mqtt:${METER}_energy`;
export const COST = `heat2mqtt:${METER}_cost`;

const MOST_STEPS = 2_000;

/** Three days of history in March 2025; whatever else a story wants. */
export const HISTORY = ['2025-03-07', '2025-03-08', '2025-03-09'].map((day) => reading(day, 10, 2.5));

export async function openStatisticsStory(
  events: readonly ExplicitEvent[] = HISTORY,
  accounts = [person('me', [home(METER, { events: [...events] })])],
) {
  const story = await openStory({ accounts });
  const ha = story.stack.use(await startPretendHomeAssistant(CANARY.opaqueToken));
  const probe = await story.listen();
  const section = { url: ha.url, token: ha.switches.token };
  let since = 0;
  const toSeconds = (ms: number) => Math.floor(ms / 1000) * 1000;

  /** What bridge/health says of the statistics now. */
  const status = () => probe.json(HEALTH)?.statistics as Record<string, unknown> | null | undefined;
  const codes = () => ((probe.json(HEALTH)?.reasons ?? []) as { code: string }[]).map(({ code }) => code);

  const isSo = (wanted: string) => {
    const { state, last_success_at: at } = status() ?? {};
    return state === wanted && (wanted !== 'ok' || Date.parse(String(at)) >= since);
  };
  /** Small steps of time until bridge/health says so; an old success does not count. */
  async function until(wanted: string): Promise<void> {
    for (let steps = 0; steps < MOST_STEPS; steps += 1) {
      await story.rest();
      if (isSo(wanted)) return;
      story.clock.advance(50);
    }
    const now = { status: status(), codes: codes(), log: story.log.slice(-5) };
    throw new Error(`statistics do not become ${wanted}: ${JSON.stringify(now, null, 1)}`);
  }

  return {
    story,
    ha,
    probe,
    status,
    codes,
    until,
    /** With the usual `home_assistant`, or another one. */
    start: (over: Readonly<Record<string, unknown>> = {}) =>
      story.start({ home_assistant: section, ...over }),
    /** Starts, and waits until the history has been read and written. */
    async settled(over: Readonly<Record<string, unknown>> = {}) {
      since = toSeconds(story.clock.now());
      const daemon = await story.start({ home_assistant: section, ...over });
      await until('ok');
      return daemon;
    },
    async pollAt(time: string, wanted = 'ok') {
      since = toSeconds(Date.parse(time));
      await story.nextPoll(Date.parse(time) - story.clock.now());
      await until(wanted);
    },
    /** From now on only a later success counts. */
    mark() {
      story.clock.advance(1_000);
      since = toSeconds(story.clock.now());
    },
  };
}

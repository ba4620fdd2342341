// A pretended Home Assistant, and a connection to it under a clock moved by hand.
import { openHomeAssistant } from '../../src/homeassistant/connection.ts';
import { handClock } from '../support/clock.ts';
import { type PretendHomeAssistant, startPretendHomeAssistant } from '../support/pretendHomeAssistant.ts';
import { openStack } from '../support/stack.ts';

export async function open(switches: Partial<PretendHomeAssistant['switches']> = {}) {
  const stack = openStack();
  const ha = stack.use(await startPretendHomeAssistant());
  Object.assign(ha.switches, switches);
  const clock = handClock('2026-03-10T12:00:00Z');
  const ending = new AbortController();
  const connect = async (url = ha.url) => {
    const home = await openHomeAssistant({ url, token: ha.switches.token }, clock, ending.signal);
    stack.defer(() => home.close());
    return home;
  };
  return { stack, ha, clock, ending, connect };
}

// A visit to Home Assistant, from the configuration: connected, and sure that statistics can be written. Shared with check.
import type { HomeAssistant as Section } from '../../config/schema.ts';
import type { Clock } from '../../foundation/clock.ts';
import { HomeAssistant } from '../../homeassistant/connection.ts';
import { checkReadiness } from '../../homeassistant/recorder.ts';

/** Ends with the work, whatever comes of it. Rejects with HomeAssistantTrouble, or with what the work rejects with. */
export async function visitHomeAssistant<T>(
  { url }: Pick<Section, 'url'>,
  token: string,
  clock: Clock,
  work: (home: HomeAssistant, readiness: { readonly timezone: string | null }) => Promise<T>,
  signal = new AbortController().signal,
): Promise<T> {
  const home = await HomeAssistant.open({ url, token }, clock, signal);
  try {
    return await work(home, await checkReadiness(home));
  } finally {
    home.close();
  }
}

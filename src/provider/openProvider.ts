// The provider that this program reads. Another one is a folder beside `monetization`, and its name in the line below.
import { openMonetization } from './monetization/monetization.ts';
import type { OpenProvider } from './provider.ts';

export const openProvider: OpenProvider = openMonetization;

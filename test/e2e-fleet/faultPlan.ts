// Which process meets what, and when: drawn from a seed, so that a run can be repeated.
import { drawFor } from '../../src/simulator/random.ts';
import { turn } from '../support/waitFor.ts';
import type { Place } from './fleet.ts';

type Kind = 'killed' | 'frozen' | 'cut' | 'silent';

interface Fault {
  readonly kind: Kind;
  readonly place: number;
  /** How long until all is well again there. */
  readonly lastsMs: number;
  /** Between the beginning of this one and that of the next. */
  readonly thenMs: number;
}

const KINDS: readonly Kind[] = ['killed', 'killed', 'frozen', 'cut', 'silent'];

export function planOf(seed: number, count: number, places: number, claimSeconds: number): Fault[] {
  return Array.from({ length: count }, (_, n) => {
    const draw = drawFor(seed, n, 'fault');
    const between = (least: number, most: number) => Math.round((least + draw() * (most - least)) * 1000);
    const kind = KINDS[Math.floor(draw() * KINDS.length)] ?? 'killed';
    const place = Math.floor(draw() * places);
    // Longer than a claim, but for the one that is started anew.
    const lastsMs = kind === 'killed' ? between(0, 4) : between(claimSeconds + 1, claimSeconds + 5);
    return { kind, place, lastsMs, thenMs: between(1.5, 5) };
  });
}

/** One process is always well: the last one is spared until another is. Resolves when all are well again. */
export async function carryOut(plan: readonly Fault[], places: readonly Place[]): Promise<void> {
  const hurt = new Map<Place, Promise<void>>();
  for (const fault of plan) {
    while (hurt.size >= places.length - 1) await Promise.race(hurt.values());
    const well = places.filter((one) => !hurt.has(one));
    const place = well[fault.place % well.length];
    if (place === undefined) continue;
    hurt.set(
      place,
      happen(fault, place).finally(() => hurt.delete(place)),
    );
    await turn(fault.thenMs);
  }
  await Promise.all(hurt.values());
}

async function happen({ kind, lastsMs }: Fault, place: Place): Promise<void> {
  if (kind === 'killed') {
    await place.kill();
    await turn(lastsMs);
    await place.start();
  } else if (kind === 'frozen') {
    place.freeze();
    await turn(lastsMs);
    place.thaw();
  } else {
    place.cable.turn(kind);
    await turn(lastsMs);
    place.cable.turn('whole');
  }
}

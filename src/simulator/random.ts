// Chance that can be repeated: a stream of draws for a seed, a number and a word.

export type Draw = () => number;

/** Draws from [0, 1); the same three arguments give the same stream on every machine. */
export function drawFor(seed: number, index: number, word: string): Draw {
  let state = (Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(index, 0xc2b2ae35)) >>> 0;
  for (let i = 0; i < word.length; i++) state = Math.imul(state ^ word.charCodeAt(i), 0x01000193) >>> 0;
  // mulberry32
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export function shuffled<T>(list: readonly T[], draw: Draw): T[] {
  const weighed = list.map((item) => ({ item, weight: draw() }));
  return weighed.sort((a, b) => a.weight - b.weight).map(({ item }) => item);
}

/** A UUID-shaped invention. */
export function uuidFrom(draw: Draw): string {
  const hex = Array.from({ length: 32 }, () => Math.floor(draw() * 16).toString(16)).join('');
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`];
  return [...parts, hex.slice(20)].join('-');
}

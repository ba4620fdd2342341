// Counts in sentences.

/** `1 account`, `2 accounts`. */
export const countWords = (count: number, noun: string): string =>
  `${count} ${noun}${count === 1 ? '' : 's'}`;

// Loaded before the program (`--import`): the clock of this process is wrong by CLOCK_SHIFT_MS milliseconds.
const { CLOCK_SHIFT_MS = '0' } = process.env;
const shift = Number(CLOCK_SHIFT_MS);
const TrueDate = Date;

globalThis.Date = class extends TrueDate {
  constructor(...parts) {
    if (parts.length === 0) super(TrueDate.now() + shift);
    else super(...parts);
  }

  static now() {
    return TrueDate.now() + shift;
  }
};

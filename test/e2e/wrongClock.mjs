// Loaded before the program (`--import`): its clock is off by the milliseconds in the file CLOCK_OFFSET_FILE, which may change at any time.
import { readFileSync } from 'node:fs';

const TrueDate = Date;
const { CLOCK_OFFSET_FILE: file = '' } = process.env;
const now = () => TrueDate.now() + Number(readFileSync(file, 'utf8'));

globalThis.Date = class extends TrueDate {
  constructor(...parts) {
    if (parts.length === 0) super(now());
    else super(...parts);
  }

  static now() {
    return now();
  }
};

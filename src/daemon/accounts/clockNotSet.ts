// A Raspberry Pi has no clock battery: before the network has told the time, days cannot be told apart.
import type { Clock } from '../../foundation/clock.ts';
import { Failure } from '../../foundation/failure.ts';

export class ClockNotSet extends Failure {
  readonly code = 'clock_not_set';
  readonly exitCode = 1;

  constructor() {
    super('The clock of this machine is not set yet.', {
      retry: 'soon',
      hint: 'Check its time service (NTP).',
    });
  }
}

const CLOCK_IS_SET_AFTER = Date.UTC(2020, 0, 1);

/** Throws ClockNotSet. */
export function mustBeSet(clock: Clock): void {
  if (clock.now() < CLOCK_IS_SET_AFTER) throw new ClockNotSet();
}

// The meters' own registers: heard on the daemon's own connection, kept on the disk, and shown beside the provider's days.
import type { AccountContext } from '../accounts/context.ts';
import { rememberLast } from '../accounts/rememberLast.ts';
import type { Micro } from '../domain/amount.ts';
import type { Reason } from '../domain/health.ts';
import { compareWitness } from '../domain/insight/witnessDays.ts';
import type { Ledger } from '../domain/ledger.ts';
import { topicSafe } from '../domain/reading.ts';
import { readRegister, type Telegram, type WitnessOptions, type WitnessRefusal } from '../domain/witness.ts';
import {
  hearTelegram,
  isOfMidnight,
  NOTHING_HEARD,
  SILENT_AFTER_MS,
  type WitnessRecord,
  withoutFuture,
} from '../domain/witnessRecord.ts';
import { isClockSet } from '../foundation/clock.ts';
import { Paced } from '../foundation/limits.ts';
import type { Incoming } from '../mqtt/message.ts';
import type { WitnessView } from '../publication/views.ts';
import { witnessDocument } from '../store/documents.ts';
import type { Document } from '../store/stateStore.ts';

/** A telegram comes every 16 s. Neither the recorder of Home Assistant nor an SD card is to feel it. */
const SHOW_EVERY_MS = 5 * 60_000;
const WRITE_EVERY_MS = 3_600_000;
const CLOCK_BELIEVED_AFTER_MS = 3_600_000;
/** Clocks of receivers may be ahead by so much. */
const AHEAD_MS = 5 * 60_000;

const HINT =
  'docs/witness.md tells what is taken, and after how long a new meter is believed. Nothing else stops.';

type Configured = WitnessOptions & { readonly topic: string };
type Needs = Pick<AccountContext, 'config' | 'clock' | 'zone' | 'log' | 'state'>;
export type Witnesses = Awaited<ReturnType<typeof openWitnesses>>;

/** `changed` is called, at most every five minutes, when there is something else to show. */
export async function openWitnesses(context: Needs, changed: () => void) {
  const { config, clock } = context;
  const witnesses: Witness[] = [];
  const show = new Paced(clock, SHOW_EVERY_MS, () => {
    for (const witness of witnesses) witness.show();
    changed();
  });
  for (const [meter, { witness: options }] of Object.entries(config.meters))
    if (options) {
      const document = witnessDocument(context.state, meter, options);
      const stored = (await document.read()) ?? NOTHING_HEARD;
      witnesses.push(new Witness(meter, options, document, stored, context));
    }

  return {
    hear(incoming: Incoming): void {
      const addressed = witnesses.filter(({ topic }) => topic === incoming.topic);
      for (const witness of addressed) witness.hear(incoming);
      if (addressed.length > 0) show.ask();
    },
    /** `meter`: its key in the configuration. Undefined: it has no witness. */
    of: (meter: string | undefined, ledger: Ledger): WitnessView | undefined =>
      witnesses.find((witness) => witness.meter === meter)?.view(ledger),
    reasons: (): Reason[] => witnesses.flatMap((witness) => witness.reason() ?? []),
    async stop(): Promise<void> {
      show.cancel();
      await Promise.all(witnesses.map((witness) => witness.save()));
    },
  };
}

/** The register last shown; `untimed`: a retained number, of which nobody knows when it was read. */
interface Shown {
  readonly record: WitnessRecord;
  readonly untimed: Micro | null;
  readonly refusal: WitnessRefusal | null;
}

class Witness {
  readonly topic: string;
  /** Its key in the configuration. */
  readonly meter: string;
  readonly #options: WitnessOptions;
  readonly #context: Needs;
  readonly #document: Document<WitnessRecord>;
  readonly #compare = rememberLast(compareWitness);
  /** Refusals that the log has told. */
  readonly #logged = new Set<string>();
  #now: Shown;
  #shown: Shown;
  #written: WitnessRecord;
  /** A moment on the monotonic clock. */
  #writtenAt = Number.NEGATIVE_INFINITY;
  /** The record is ahead of the clock since then, on the monotonic clock; `null`: it is not. */
  #aheadSince: number | null = null;

  constructor(
    meter: string,
    { topic, ...options }: Configured,
    document: Document<WitnessRecord>,
    stored: WitnessRecord,
    context: Needs,
  ) {
    this.topic = topic;
    this.meter = meter;
    this.#options = options;
    this.#context = context;
    this.#document = document;
    this.#now = { record: stored, untimed: null, refusal: null };
    this.#shown = this.#now;
    this.#written = stored;
  }

  hear({ payload, retained }: Incoming): void {
    // A retained one is cleared so.
    if (payload.length === 0) return;
    const telegram = readRegister(payload, this.#options);
    if ('refused' in telegram) this.#refuse(telegram);
    else this.#take(telegram, momentOf(telegram, retained, this.#context.clock.now()));
  }

  /** `at`: when the register stood there; `null`: nobody knows. */
  #take(telegram: Telegram, at: number | null): void {
    if (at === null) {
      this.#now = { ...this.#now, untimed: telegram.energy, refusal: null };
      return;
    }
    const { clock, zone } = this.#context;
    const { record, refusal } = hearTelegram(this.#recordBefore(), telegram, at, zone);
    this.#now = refusal ? { ...this.#now, record } : { record, untimed: null, refusal: null };
    if (refusal) this.#refuse(refusal);
    const isNewDay = record.midnights !== this.#written.midnights;
    if (isNewDay || clock.monotonic() - this.#writtenAt >= WRITE_EVERY_MS) void this.save();
  }

  /** A record ahead of the clock: the clock was ahead once, or it is behind until the network has told the time. */
  #recordBefore(): WitnessRecord {
    const { clock } = this.#context;
    const { record } = this.#now;
    const past = withoutFuture(record, clock.now());
    if (past === record) {
      this.#aheadSince = null;
      return record;
    }
    this.#aheadSince ??= clock.monotonic();
    return clock.monotonic() - this.#aheadSince < CLOCK_BELIEVED_AFTER_MS ? record : past;
  }

  #refuse(refusal: WitnessRefusal): void {
    const { refused, message } = refusal;
    // Many meters send other telegrams between those with their register.
    if (refused === 'no_register' && this.#isFresh(this.#now.record)) return;
    this.#now = { ...this.#now, refusal };
    if (this.#logged.has(refused)) return;
    this.#logged.add(refused);
    this.#context.log.warn({ meter: this.meter, topic: this.topic }, `a register is not taken: ${message}`);
  }

  #isFresh({ newest }: WitnessRecord): boolean {
    return newest !== null && this.#context.clock.now() - newest.readAt < SILENT_AFTER_MS;
  }

  /** The next view tells the state of now. */
  show(): void {
    this.#shown = this.#now;
  }

  view(ledger: Ledger): WitnessView {
    const { clock, zone } = this.#context;
    const { record, untimed } = this.#shown;
    const { midnights, newest } = record;
    const today = zone.dayAt(clock.now());
    const current = this.#isFresh(record) ? newest : null;
    const isOfToday = [midnights, current].every(
      (register) => register && zone.dayAt(register.readAt) === today,
    );
    const used = current && midnights && isOfToday && !isOfMidnight(record);
    const { flowTemperature, returnTemperature, volume } = newest ?? {};
    /** `null` while silent; what has never come stays undefined. */
    const lately = (value: number | undefined) => (current === null && value !== undefined ? null : value);
    return {
      energy: current?.energy ?? untimed,
      at: current?.readAt ?? null,
      today: used ? current.energy - midnights.energy : null,
      midnights,
      compared: this.#compare(midnights, ledger, zone),
      flowTemperature: lately(flowTemperature),
      returnTemperature: lately(returnTemperature),
      volume: lately(volume),
    };
  }

  reason(): Reason | null {
    const { refusal } = this.#shown;
    if (refusal === null) return null;
    const message = `What ${this.topic} has for the meter ${this.meter} is not taken: ${refusal.message}.`;
    return { code: 'witness_refused', message, hint: HINT, meter: topicSafe(this.meter) };
  }

  async save(): Promise<void> {
    const { record } = this.#now;
    if (record === this.#written) return;
    this.#written = record;
    this.#writtenAt = this.#context.clock.monotonic();
    await this.#document.write(record);
  }
}

/** The moment at which the register stood there; `null`: nobody knows. */
function momentOf({ receivedAt }: Telegram, isRetained: boolean, now: number): number | null {
  if (!isClockSet(now)) return null;
  if (receivedAt !== null && isClockSet(receivedAt) && receivedAt <= now + AHEAD_MS)
    return Math.min(receivedAt, now);
  return isRetained ? null : now;
}

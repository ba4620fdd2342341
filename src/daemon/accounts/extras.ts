// What an account has beside its usage: register, balance, invoices and site, asked for at most once a day, after a
// poll that went well, and never in its way.
import type { Config } from '../../config/schema.ts';
import { type Extras, NO_EXTRAS, registerKey } from '../../domain/extras.ts';
import type { Reason } from '../../domain/health.ts';
import type { Invoice } from '../../domain/invoice.ts';
import type { Day } from '../../domain/period.ts';
import type { Property, Register } from '../../domain/reading.ts';
import type { Clock } from '../../foundation/clock.ts';
import type { EntityContext } from '../../provider/discovery.ts';
import type { Ask } from '../../provider/request.ts';
import type { Turns } from '../polling/turns.ts';
import { askIfDue, type ExtraQuestion, type QuestionParts, questionDay } from './extraQuestion.ts';
import {
  amountQuestion,
  invoicesQuestion,
  registerQuestion,
  type Shelf,
  siteQuestion,
} from './extraQuestions.ts';
import { currencyOf, siteReasons } from './site.ts';
import type { Upstream } from './upstream.ts';

export interface AccountExtras {
  /** What is known of those that the configuration wants. */
  readonly known: Extras;
  readonly currency: string;
  register(property: Property): Register | null;
  reasons(): Reason[];
  /** The currency had better be known before anything is published. Never rejects. */
  askSite(signal: AbortSignal): Promise<void>;
  /** Asks for what is due, in its turn. */
  begin(context: EntityContext, signal: AbortSignal): void;
  /** Resolves once nothing is under way. */
  settled(): Promise<void>;
}

export interface ExtrasParts extends QuestionParts {
  readonly config: Config;
  readonly account: string;
  readonly upstream: Upstream;
  /** Runs it when nothing else of its kind is under way in the house. */
  readonly inTurn: (step: () => Promise<void>) => Promise<void>;
  /** Each question takes a turn like a poll; that of the site, which a poll waits for, has the poll's. */
  readonly turns: Pick<Turns, 'take'>;
  /** Called when something may be known that was not. */
  readonly onFound: () => void;
  readonly onBills: (bills: readonly Invoice[]) => void;
  /** Called after each round in which something was asked. */
  readonly onAsked: () => void;
}

export async function openExtras(parts: ExtrasParts): Promise<AccountExtras> {
  return new OpenExtras(parts, (await parts.upstream.extras.read()) ?? NO_EXTRAS);
}

class OpenExtras implements AccountExtras, Shelf {
  readonly #parts: ExtrasParts;
  known: Extras;
  #flight: Promise<void> | null = null;
  #warned = '';
  /** Nothing more is due for these properties on this day. */
  #done: { readonly context: EntityContext; readonly day: Day } | null = null;

  constructor(parts: ExtrasParts, stored: Extras) {
    this.#parts = parts;
    this.known = wantedOf(stored, parts.config.extras);
    this.#warnOfSite();
  }

  get currency(): string {
    return currencyOf(this.#parts.config, this.known.site.found);
  }

  register(property: Property): Register | null {
    return this.known.registers[registerKey(property)]?.found ?? null;
  }

  reasons(): Reason[] {
    const { config, account } = this.#parts;
    return siteReasons(config, this.known.site.found).map((reason) => ({ ...reason, account }));
  }

  async askSite(signal: AbortSignal): Promise<void> {
    if (this.#parts.config.extras.site) await this.#ask(siteQuestion(this), signal);
    this.#warnOfSite();
  }

  begin(context: EntityContext, signal: AbortSignal): void {
    const { log, inTurn } = this.#parts;
    if (this.#flight !== null) {
      log.debug('extras still being asked for');
      return;
    }
    if (this.#done?.context === context && this.#done.day === this.#day()) {
      log.debug('extras not due');
      return;
    }
    this.#flight = inTurn(() => this.#round(context, signal)).finally(() => {
      this.#flight = null;
    });
  }

  async settled(): Promise<void> {
    await this.#flight;
  }

  #day(): Day {
    return questionDay(this.#parts.zone, this.#parts.clock);
  }

  get ask(): Ask {
    return this.#parts.upstream.extrasAsk;
  }

  get clock(): Clock {
    return this.#parts.clock;
  }

  async keep(changes: Partial<Extras>): Promise<void> {
    this.known = { ...this.known, ...changes };
    await this.#parts.upstream.extras
      .write(this.known)
      .catch((err) => this.#parts.log.error({ err }, 'extras could not be saved'));
  }

  /** Resolves to whether the provider can be asked for more. */
  #ask<T>(one: ExtraQuestion<T>, signal: AbortSignal): Promise<boolean> {
    return askIfDue(one, this.#parts, signal);
  }

  async #round(context: EntityContext, signal: AbortSignal): Promise<void> {
    const wanted = this.#parts.config.extras;
    const before = this.known;
    const day = this.#day();
    const bills: Invoice[] = [];
    const steps = [
      ...(wanted.site ? [() => this.#ask(siteQuestion(this), signal)] : []),
      ...(wanted.meter_reading
        ? ofOneMeter(context).map((one) => () => this.#ask(registerQuestion(this, one, context), signal))
        : []),
      ...(wanted.balance ? [() => this.#ask(amountQuestion(this, 'balance', context), signal)] : []),
      ...(wanted.balance ? [() => this.#ask(amountQuestion(this, 'credit', context), signal)] : []),
      ...(wanted.invoices ? [() => this.#ask(invoicesQuestion(this, context, bills), signal)] : []),
    ];
    let isWhole = true;
    for (const step of steps) {
      isWhole = await this.#parts.turns.take(step);
      if (!isWhole) break;
    }
    if (isWhole) this.#done = { context, day };
    this.#warnOfSite();
    if (this.known !== before) {
      this.#parts.onFound();
      if (bills.length > 0) this.#parts.onBills(bills);
      this.#parts.onAsked();
    }
    this.#parts.log.debug({ asked: this.known !== before }, 'extras asked for');
  }

  #warnOfSite(): void {
    const reasons = siteReasons(this.#parts.config, this.known.site.found);
    const said = JSON.stringify(reasons);
    if (said === this.#warned) return;
    this.#warned = said;
    for (const { message } of reasons) this.#parts.log.warn(message);
  }
}

/** Registers of several meters are not one number. */
const ofOneMeter = ({ properties }: EntityContext): readonly Property[] =>
  properties.filter(({ meterIdentifiers }) => meterIdentifiers.length <= 1);

const wantedOf = (stored: Extras, wanted: Config['extras']): Extras => ({
  site: wanted.site ? stored.site : NO_EXTRAS.site,
  balance: wanted.balance ? stored.balance : NO_EXTRAS.balance,
  credit: wanted.balance ? stored.credit : NO_EXTRAS.credit,
  invoices: wanted.invoices ? stored.invoices : NO_EXTRAS.invoices,
  registers: wanted.meter_reading ? stored.registers : {},
});

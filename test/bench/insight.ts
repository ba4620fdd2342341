// One meter of ten years with weather, bills and statement: what a new day costs, question by question.
import { judgeUse } from '../../src/domain/insight/alarm.ts';
import { billJudge } from '../../src/domain/insight/bill.ts';
import { forecaster, forecastMonth } from '../../src/domain/insight/forecast.ts';
import { openHouse } from '../../src/domain/insight/weather.ts';
import { addDays, addMonths, monthStart } from '../../src/domain/period.ts';
import { fitTariff } from '../../src/domain/tariff/tariff.ts';
import { Building, DUBLIN } from '../support/building.ts';
import { spread, table } from './numbers.ts';

const FROM = '2015-01-01';
const DAYS = 3_652;
const STATEMENT_MONTHS = 13;
/** As many as are kept of an outdoor sensor. */
const TEMPERATURES = 3 * 365 + 1;

export function benchInsight(runs: number): string {
  const building = new Building({ seed: 5, from: FROM, days: DAYS });
  const invoices = building.bills({ kind: 'fee' }).map(({ invoice }) => invoice);
  const temperatures = new Map([...building.temperatures].slice(-TEMPERATURES));
  const judge = billJudge();
  const costs = new Map<string, number[]>();
  function time<T>(question: string, answer: () => T): T {
    const began = performance.now();
    const found = answer();
    costs.set(question, [...(costs.get(question) ?? []), performance.now() - began]);
    return found;
  }
  for (let n = 0; n < runs; n += 1) {
    const today = addDays(FROM, DAYS - runs + n);
    const days = building.until(addDays(today, -1));
    const [tariff, month] = [fitTariff(days), monthStart(today)];
    time('all of it', () => {
      time('bills', () => judge(invoices, [{ origin: FROM, days }], DUBLIN));
      const known = { days, today, tariff };
      time('forecast', () => forecastMonth(known, forecaster(known)));
      const house = time('house', () => openHouse(days, { temperatures, base: null }));
      time('month apart', () => house.split({ from: month, to: today }));
      time('change', () => house.newestChange());
      const last = addMonths(month, -1);
      const line = house.lineBefore(last);
      time('statement', () => {
        for (let back = 0; back < STATEMENT_MONTHS; back += 1)
          house.changeOver({ from: addMonths(last, -back), to: addMonths(last, 1 - back) }, line);
      });
      time('use', () => judgeUse(days, today, temperatures, tariff));
    });
  }
  // The first half warms up.
  const rows = [...costs].map(([question, all]) => [question, spread(all.slice(all.length / 2), 2)]);
  return table(['a new day of ten years', 'ms'], rows);
}

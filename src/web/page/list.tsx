// Many meters: a list with search, of which one is shown.
import { useState } from 'preact/hooks';
import { kWh, money } from './format.ts';
import { type MeterInfo, nameOf } from './meter.tsx';
import { currencyOf, numberOf, type State, store } from './store.ts';
import { has, Search } from './widgets.tsx';

export function MeterList(props: {
  meters: readonly MeterInfo[];
  chosen: string;
  onChoose: (meter: string) => void;
}) {
  const { meters, chosen, onChoose } = props;
  const [search, setSearch] = useState('');
  const found = meters.filter((info) =>
    has(`${nameOf(info)} ${info.account} ${info.identifiers.join(' ')}`, search),
  );
  return (
    <nav class="card list" aria-label="Meters">
      <h2>{meters.length} meters, this month</h2>
      <Search name="Search" onInput={setSearch} />
      <ul>
        {found.map((info) => {
          const state = store.get<State>(`meter/${info.meter}/state`);
          return (
            <li key={info.meter}>
              <button type="button" aria-current={info.meter === chosen} onClick={() => onChoose(info.meter)}>
                <span>
                  {nameOf(info)}
                  <small>{state?.data_late === true ? <b class="late">late</b> : info.account}</small>
                </span>
                <span>
                  {kWh(numberOf(state, 'energy_month'))}
                  <small>{money(numberOf(state, 'cost_month'), currencyOf(info.meter))}</small>
                </span>
              </button>
            </li>
          );
        })}
      </ul>
      {found.length === 0 && <p class="empty">No meter has these words.</p>}
    </nav>
  );
}

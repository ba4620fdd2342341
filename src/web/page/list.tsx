// Many meters: a list with search, of which one is shown.
import { useState } from 'preact/hooks';
import { energy, money } from './format.ts';
import { currencyOf, nameOf, numberOf } from './meter.tsx';
import type { Info, State, Store } from './store.ts';
import { has, Search } from './widgets.tsx';

export function MeterList(props: {
  store: Store;
  meters: Info['meters'];
  chosen: string;
  onChoose: (meter: string) => void;
}) {
  const { store, meters, chosen, onChoose } = props;
  const [search, setSearch] = useState('');
  const found = meters.filter((info) =>
    has(`${nameOf(info)} ${info.meter} ${info.account} ${info.identifiers.join(' ')}`, search),
  );
  return (
    <nav class="card list" aria-label="Meters">
      <Search name={`Search ${meters.length} meters`} onInput={setSearch} />
      <ul>
        {found.map((info) => {
          const state = store.get<State>(`meter/${info.meter}/state`);
          return (
            <li key={info.meter}>
              <button type="button" aria-current={info.meter === chosen} onClick={() => onChoose(info.meter)}>
                <span>
                  {nameOf(info)} <small>{info.account}</small>
                </span>
                <span>
                  {energy(numberOf(state, 'energy_month'))} kWh{' '}
                  <small>
                    {money(numberOf(state, 'cost_month'), currencyOf(store, info.meter))} this month
                  </small>
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

// The meters in Home Assistant's Energy dashboard: the change is shown, and made when it is pressed for once more.
import { useState } from 'preact/hooks';
import { Result, useSending } from './sending.tsx';
import { ask } from './store.ts';
import { Fact } from './widgets.tsx';

interface Shown {
  readonly added: readonly {
    readonly name: string | null;
    readonly energy: string;
    readonly cost: string | null;
  }[];
  readonly refusals: readonly string[];
  readonly cautions: readonly string[];
  readonly digest: string;
}

export function EnergyDashboard() {
  const { words, isBusy, send } = useSending();
  const [shown, setShown] = useState<Shown | null>(null);
  const look = () =>
    send(async () => {
      const found = await ask<Shown>('GET', 'energy-dashboard');
      const { added, refusals } = found;
      if (added.length > 0) setShown(found);
      else if (refusals.length === 0) return 'It is there already.';
      return refusals.join(' ');
    });
  const add = (digest: string) => {
    setShown(null);
    send(async () => {
      await ask('POST', 'energy-dashboard', { digest });
      return 'Done. Everything else there is as it was.';
    });
  };
  return (
    <>
      <p>It has no place for heat, which is added as gas. What is added is shown first.</p>
      {shown === null ? (
        <button type="button" disabled={isBusy} onClick={look}>
          Add to the Energy dashboard
        </button>
      ) : (
        <>
          <dl class="facts">
            {shown.added.map(({ name, energy, cost }) => (
              <Fact key={energy} name={`To be added${name === null ? '' : ` as ${name}`}`}>
                {energy} {cost !== null && <small>its cost: {cost}</small>}
              </Fact>
            ))}
          </dl>
          {shown.cautions.map((caution) => (
            <p key={caution} class="late">
              {caution}
            </p>
          ))}
          <div class="fields">
            <button type="button" class="main" onClick={() => add(shown.digest)}>
              Add this
            </button>
            <button type="button" onClick={() => setShown(null)}>
              Cancel
            </button>
          </div>
        </>
      )}
      <Result words={words} />
    </>
  );
}

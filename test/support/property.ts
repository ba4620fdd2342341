// Properties, tried as often as HEAT2MQTT_PROPERTY_RUNS says: for a long night's search.
import fc from 'fast-check';

export const RUNS = Number(process.env.HEAT2MQTT_PROPERTY_RUNS ?? 100);

/** Fails when the last argument does for some values that the ones before it draw. */
export function holds<Values extends [unknown, ...unknown[]]>(
  ...drawnAndClaim: Parameters<typeof fc.property<Values>>
): void {
  fc.assert(fc.property<Values>(...drawnAndClaim), { numRuns: RUNS });
}

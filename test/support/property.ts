// Properties, tried as often as HEAT2MQTT_PROPERTY_RUNS says: a few times while one works, more by .ci/run, and often in a long night's
// search. Each run draws other values.
import fc from 'fast-check';

export const RUNS = Number(process.env.HEAT2MQTT_PROPERTY_RUNS ?? 40);

/** Fails when the last argument does for some values that the ones before it draw. */
export function holds<Values extends [unknown, ...unknown[]]>(
  ...drawnAndClaim: Parameters<typeof fc.property<Values>>
): void {
  fc.assert(fc.property<Values>(...drawnAndClaim), { numRuns: RUNS });
}

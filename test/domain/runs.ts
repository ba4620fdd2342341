// How often each property is tried: HEAT2MQTT_PROPERTY_RUNS, for a long night's search.

export const RUNS = Number(process.env.HEAT2MQTT_PROPERTY_RUNS ?? 100);

// The broker of the bench where there is no Mosquitto.
import { startBroker } from '../../src/mqtt/embedded.ts';

await startBroker({ port: Number(process.argv[2]) });
process.on('disconnect', () => process.exit());

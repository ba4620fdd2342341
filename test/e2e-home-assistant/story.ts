// Provider, Mosquitto, Home Assistant with the MQTT integration, and the built daemon beside them.
import { onTestFinished } from 'vitest';
import { type ME, openHomeWithBroker } from '../e2e/program.ts';
import { STATE } from '../support/homes.ts';
import { type Api, connect } from './api.ts';
import { type HomeAssistantOptions, startHomeAssistant } from './homeAssistant.ts';
import { onboard, setUpMqtt } from './onboarding.ts';

export interface StoryOptions extends HomeAssistantOptions {
  readonly me?: typeof ME;
}

/** To be called from within a test. */
export async function openStory({ me, ...options }: StoryOptions = {}) {
  const home = await openHomeWithBroker(me);
  const { stack, simulator } = home;
  const homeAssistant = await startHomeAssistant(stack, options);
  onTestFinished(({ task }) => {
    // What a reader of a failure wants to know first.
    if (task.result?.state === 'fail') process.stderr.write(homeAssistant.records().slice(-40).join('\n'));
  });
  const token = await onboard(homeAssistant.url);
  const enter = async (): Promise<Api> => stack.use(await connect(homeAssistant.url, token));
  const first = await enter();
  await setUpMqtt(first, home.broker.port);
  first.stop();
  const probe = await home.listen();
  return {
    ...home,
    homeAssistant,
    token,
    /** A connection of the owner's. A restart of Home Assistant ends it. */
    enter,
    probe,
    /** Starts the daemon, and waits until it has said what it knows. `over`: configuration over the usual one. */
    async start(over: Readonly<Record<string, unknown>> = {}) {
      const constituencies = { base_url: simulator.urls.constituencies, chamber: 'dail', house_no: 34 };
      const program = home.start(await home.configure({ constituencies, ...over }));
      await program.says('connected to the broker');
      await probe.until(STATE, () => true);
      return program;
    },
  };
}

export type House = Awaited<ReturnType<typeof openStory>>;

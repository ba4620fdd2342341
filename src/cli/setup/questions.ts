// The questions of `heat2mqtt setup`, in their order, and how the answers to each group of them are tried.
import { randomBytes } from 'node:crypto';
import { isLoopback, splitHostAndPort } from '../../config/listenAddress.ts';
import { weaknessOf } from '../../config/pageAddress.ts';
import { KNOWN_PROVIDERS, UNTRIED } from '../../config/providers.ts';
import { visitHomeAssistant } from '../../homeassistant/commands.ts';
import { openBroker } from '../../mqtt/broker.ts';
import { openUpstreamBeside } from '../account.ts';
import type { Io } from '../command.ts';
import { signInWith } from '../login.ts';
import type { Settings } from '../settings.ts';
import type { Answers } from './answers.ts';
import type { Form } from './asking.ts';
import { pageWords } from './page.ts';

export interface Question extends Form {
  /** The key of the configuration that it is about. */
  readonly key: string;
  /** A list of answers to correct calls it so. */
  readonly name: string;
  /** The answer is not shown, and goes into this file. */
  readonly secret?: {
    readonly file: string;
    /** Says what follows when there is none. */
    readonly without: string;
    /** One is made up where none is typed. */
    readonly makeUp?: () => string;
    /** Says what is wrong with it; `null`: nothing. */
    readonly weaknessOf?: (secret: string) => string | null;
  };
  /** `none` is an answer. */
  readonly isOptional?: true;
  /** Asked only where an answer before it says so. Default: always. */
  readonly when?: (answers: Answers) => boolean;
  /** Asked besides to correct what did not work. */
  readonly isSpare?: (answers: Answers) => boolean;
  /** The present answer, as a person would type it. Default: what the key says. */
  readonly now?: (answers: Answers) => string | undefined;
  /** Offered as long as there is no answer. */
  readonly usual?: (answers: Answers) => string | undefined;
  /** Takes what was typed, undefined for `none`. Default: the key says it. */
  readonly take?: (answers: Answers, typed: string | undefined) => void;
}

export interface Step {
  /** Steps of one title are changed together. */
  readonly title: string;
  readonly questions: readonly Question[];
  /** The keys whose change makes another try necessary. */
  readonly about: readonly string[];
  /** Resolves to what works, in words. */
  readonly attempt?: (settings: Settings, io: Io) => Promise<string>;
  /** Questions of other steps whose answers may be to blame when it fails. */
  readonly mayBlame?: readonly string[];
}

/** Kept in its file, where a person finds it. */
const MADE_UP = {
  without: 'one is made up, and written into its file',
  makeUp: () => randomBytes(15).toString('base64url'),
};

const PORT = 1883;
const USUAL_BROKER = `mqtt://localhost:${PORT}`;
const LOOPBACK = '127.0.0.1';
const EVERYWHERE = '0.0.0.0';
const ANOTHER = KNOWN_PROVIDERS.length + 1;

const presetOf = (answers: Answers) =>
  KNOWN_PROVIDERS.find(({ provider }) => provider.issuer === answers.at('provider.issuer'));
const isAnother = (answers: Answers) => presetOf(answers) === undefined;
/** A file that is there and lacks the key has this value in effect. */
const unlessNew = (value: string, answers: Answers) => (answers.isNew ? undefined : value);

const always = () => true;

const certificateOf = (section: string, isSpare: (answers: Answers) => boolean): Question => ({
  key: `${section}.ca_file`,
  name: 'the certificate of its authority',
  words: "File with the authority's certificate",
  isOptional: true,
  when: () => false,
  isSpare,
  take: (answers, typed) => answers.put(`${section}.ca_file`, typed && answers.fileFrom(typed)),
});

const PROVIDER: Question = {
  key: 'provider',
  name: 'the provider',
  words: 'Provider',
  choices: [
    ...KNOWN_PROVIDERS.map(({ name, source }) => `${name}\n     ${UNTRIED}: ${source}`),
    'another one: its portal shows the addresses, as examples/yuno-energy.yaml explains',
  ],
  now(answers) {
    if (answers.at('provider.issuer') === undefined) return undefined;
    const at = KNOWN_PROVIDERS.findIndex(({ id }) => id === presetOf(answers)?.id);
    return `${at + 1 || ANOTHER}`;
  },
  take(answers, typed) {
    const [before, chosen] = [presetOf(answers), KNOWN_PROVIDERS[Number(typed) - 1]];
    if (before === chosen) return;
    const isGone = chosen === undefined;
    for (const [key, value] of Object.entries((chosen ?? before)?.provider ?? {}))
      answers.put(`provider.${key}`, isGone ? undefined : value);
  },
};

const ISSUER: Question = {
  key: 'provider.issuer',
  name: 'the address of the issuer',
  words: 'Issuer, up to the name after /realms/',
  when: isAnother,
  isSpare: always,
  take: (answers, typed) =>
    answers.put('provider.issuer', typed?.replace(/\/\.well-known\/openid-configuration$/, '')),
};

const API: Question = {
  key: 'provider.api_url',
  name: 'the address of the API',
  words: 'API, up to what stands before /reports/usage',
  when: isAnother,
  isSpare: always,
  take: (answers, typed) => answers.put('provider.api_url', typed?.replace(/\/reports\/usage\b.*$/, '')),
};

const CLIENT: readonly Question[] = [
  { key: 'provider.client_id', name: 'the client id', words: 'Client id', when: isAnother },
  {
    key: 'provider.scopes',
    name: 'the scopes',
    words: 'Scopes',
    when: isAnother,
    now: (answers) => [answers.at('provider.scopes') ?? ['openid', 'service-energy']].flat().join(' '),
    take: (answers, typed) => answers.put('provider.scopes', typed?.split(/[\s,]+/)),
  },
  {
    key: 'provider.redirect_uri',
    name: 'the redirect address',
    words: 'Redirect address (redirect_uri of its login page), if you know it',
    when: isAnother,
    isOptional: true,
  },
];

const TIME_ZONE: Question = {
  key: 'usage.timezone',
  name: 'the time zone',
  words: 'Time zone of the flat; its days and months are cut there',
  now: (answers) => answers.textAt('usage.timezone') ?? unlessNew('Europe/Dublin', answers),
  usual: (answers) => presetOf(answers)?.usage.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
};

const LOGIN: readonly Question[] = [
  { key: 'accounts.0.username', name: 'the user name', words: "User name on the provider's page" },
  {
    key: 'accounts.0.password_file',
    name: 'the password',
    words: 'Password on that page',
    isOptional: true,
    secret: { file: './heat-password', without: 'you sign in on another device' },
    take(answers, typed) {
      const way = answers.at('provider.sign_in');
      const isByPerson = way === 'device' || way === 'link';
      if (isByPerson === (typed === undefined)) return;
      answers.put('provider.sign_in', typed === undefined ? 'device' : undefined);
    },
  },
];

const hasOwnBroker = (answers: Answers) => Boolean(answers.at('mqtt.embedded'));
const ownBrokerIsOpen = (answers: Answers) =>
  hasOwnBroker(answers) && !isLoopback(answers.textAt('mqtt.embedded.host') ?? LOOPBACK);
const hasOtherBroker = (answers: Answers) => !hasOwnBroker(answers);
const OF_OTHER_BROKER = ['url', 'username', 'password', 'password_file', 'ca_file'].map(
  (key) => `mqtt.${key}`,
);

const BROKER: readonly Question[] = [
  {
    key: 'mqtt.url',
    name: 'the address of the broker',
    words: 'MQTT broker, such as 192.168.1.5 ("none": heat2mqtt brings its own)',
    isOptional: true,
    now(answers) {
      if (hasOwnBroker(answers)) return 'none';
      return answers.textAt('mqtt.url') ?? unlessNew(USUAL_BROKER, answers);
    },
    usual: () => USUAL_BROKER,
    take(answers, typed) {
      if (typed === undefined) {
        answers.remove(...OF_OTHER_BROKER);
        if (!hasOwnBroker(answers)) answers.put('mqtt.embedded', { port: PORT, host: LOOPBACK });
        return;
      }
      const scheme = typed.endsWith(':8883') ? 'mqtts' : 'mqtt';
      answers.remove('mqtt.embedded');
      answers.put('mqtt.url', typed.includes('://') ? typed : `${scheme}://${typed}`);
    },
  },
  {
    key: 'mqtt.username',
    name: 'the user name',
    words: 'User name at the broker, if it wants one',
    isOptional: true,
    when: hasOtherBroker,
    take(answers, typed) {
      answers.put('mqtt.username', typed);
      if (typed === undefined) answers.removeSecret('mqtt.password_file');
    },
  },
  {
    key: 'mqtt.password_file',
    name: 'the password',
    words: 'Password at the broker',
    isOptional: true,
    when: (answers) => hasOtherBroker(answers) && answers.at('mqtt.username') !== undefined,
    secret: { file: './mqtt-password', without: 'none' },
  },
  certificateOf('mqtt', hasOtherBroker),
  {
    key: 'mqtt.embedded.host',
    name: 'whether other machines reach it',
    words: 'Shall other machines reach it, such as that of Home Assistant?',
    isYesNo: true,
    when: hasOwnBroker,
    now: (answers) => (ownBrokerIsOpen(answers) ? 'y' : 'n'),
    take(answers, typed) {
      answers.put('mqtt.embedded.host', typed === 'y' ? EVERYWHERE : LOOPBACK);
      if (typed === 'y') return;
      answers.remove('mqtt.embedded.username');
      answers.removeSecret('mqtt.embedded.password_file');
    },
  },
  {
    key: 'mqtt.embedded.username',
    name: 'the user name',
    words: 'User name that they log in with',
    when: ownBrokerIsOpen,
    usual: () => 'home',
  },
  {
    key: 'mqtt.embedded.password_file',
    name: 'the password',
    words: 'Password for them',
    when: ownBrokerIsOpen,
    secret: { file: './mqtt-password', ...MADE_UP },
  },
];

const HOME_ASSISTANT: readonly Question[] = [
  {
    key: 'home_assistant.url',
    name: 'its address',
    words: 'Home Assistant, to write each day on its own date: its address, or "none"',
    isOptional: true,
    take(answers, typed) {
      if (typed === undefined) return answers.remove('home_assistant');
      const port = /:\d+$/.test(typed) ? '' : ':8123';
      answers.put('home_assistant.url', typed.includes('://') ? typed : `http://${typed}${port}`);
    },
  },
  {
    key: 'home_assistant.token_file',
    name: 'the token',
    words: 'Its access token (your profile there, Security, Long-lived access tokens)',
    isOptional: true,
    when: (answers) => answers.at('home_assistant') !== undefined,
    secret: { file: './ha-token', without: 'none, and Home Assistant is left out' },
    take(answers, typed) {
      if (typed === undefined) answers.remove('home_assistant');
    },
  },
];

const USUAL_LISTEN = '127.0.0.1:8099';
const listenOf = (answers: Answers) =>
  splitHostAndPort(answers.textAt('http.listen') ?? USUAL_LISTEN) ?? { host: LOOPBACK, port: 8099 };
const pageIsOpen = (answers: Answers) => !isLoopback(listenOf(answers).host);

const PAGE: readonly Question[] = [
  {
    key: 'http.listen',
    name: 'whether other devices see it',
    words: 'Look at its page from your phone, too?',
    isYesNo: true,
    now: (answers) => (pageIsOpen(answers) ? 'y' : 'n'),
    take(answers, typed) {
      const isOpen = typed === 'y';
      if (isOpen !== pageIsOpen(answers))
        answers.put('http.listen', `${isOpen ? EVERYWHERE : LOOPBACK}:${listenOf(answers).port}`);
    },
  },
  {
    key: 'web.password_file',
    name: 'the password',
    words: 'Password of the page',
    when: pageIsOpen,
    secret: { file: './page-password', ...MADE_UP, weaknessOf },
  },
];

export const STEPS: readonly Step[] = [
  {
    title: 'the provider',
    about: ['provider.issuer', 'provider.ca_file'],
    questions: [PROVIDER, ISSUER, certificateOf('provider', always)],
    async attempt(settings, io) {
      await openUpstreamBeside(settings, io).issuer.offersDevice();
      return 'the issuer answers';
    },
  },
  {
    title: 'the provider',
    about: ['provider.api_url', 'provider.ca_file'],
    questions: [API],
    mayBlame: ['provider.ca_file'],
    async attempt(settings, io) {
      await openUpstreamBeside(settings, io).reachApi();
      return 'the API answers';
    },
  },
  { title: 'the provider', about: [], questions: CLIENT },
  { title: 'the time zone', about: [], questions: [TIME_ZONE] },
  {
    title: 'the login',
    about: ['provider', 'accounts'],
    questions: LOGIN,
    mayBlame: [...CLIENT.map(({ key }) => key), 'provider.api_url', 'provider.issuer'],
    async attempt(settings, io) {
      const { provider } = await signInWith(settings, io);
      const { properties } = await provider.discover();
      const meters = properties.flatMap(({ meterIdentifiers }) => meterIdentifiers);
      return `signed in; heat meters: ${meters.join(', ') || properties.length}`;
    },
  },
  { title: 'the broker', about: ['mqtt'], questions: BROKER, attempt: tryBroker },
  {
    title: 'Home Assistant',
    about: ['home_assistant'],
    questions: HOME_ASSISTANT,
    async attempt({ config: { home_assistant } }, io) {
      if (!home_assistant) return 'Home Assistant is left out';
      const address = { url: home_assistant.url, token: await home_assistant.token.read() };
      const visit = visitHomeAssistant(address, io.clock, async ({ version }) => version, io.interrupted);
      return `Home Assistant ${await visit} answers`;
    },
  },
  {
    title: 'the page',
    about: ['http', 'web'],
    questions: PAGE,
    attempt: async ({ config }) => pageWords(config),
  },
];

async function tryBroker({ config: { mqtt } }: Settings, io: Io): Promise<string> {
  if (mqtt.embedded) {
    const { port, username } = mqtt.embedded;
    const reach = username
      ? `Every machine reaches it as ${username}, with the password.`
      : 'Only this machine reaches it.';
    return `heat2mqtt brings its own broker, on port ${port}. ${reach}`;
  }
  const connection = await openBroker(mqtt, 'setup', io.clock);
  await connection.close(1_000);
  return 'the broker answers';
}

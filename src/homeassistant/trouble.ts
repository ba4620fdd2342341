// Home Assistant's statistics could not be written, or its Energy dashboard not changed: the reasons, each with advice.
import { EXIT, Failure, IN_A_CONTAINER, type Retry } from '../foundation/failure.ts';

const AT_HOME = `Check home_assistant.url and that Home Assistant runs; while it restarts, this passes by itself. ${IN_A_CONTAINER}`;

interface TroubleRow {
  readonly message: string;
  /** Default: later. */
  readonly retry?: Retry;
  readonly hint: string;
}

/** `%` stands for a detail in words of our own. */
const ROWS = {
  unreachable: { message: 'Home Assistant cannot be reached (%).', retry: 'soon', hint: AT_HOME },
  not_trusted: {
    message: 'The certificate of Home Assistant is not trusted (%).',
    hint: 'Use the name in the certificate, or name the authority that signed it in NODE_EXTRA_CA_CERTS.',
  },
  moved: {
    message: 'Home Assistant sends us to another address (%).',
    hint: 'Open it in a browser and write the address it ends at into home_assistant.url.',
  },
  no_home_assistant: {
    message: 'What answers at home_assistant.url is not Home Assistant (%).',
    hint: 'It is the address at which a browser shows Home Assistant, as in http://homeassistant.local:8123.',
  },
  token_refused: {
    message: 'Home Assistant refuses the token.',
    retry: 'never',
    hint:
      'Create a long-lived access token on the security page of your profile in Home Assistant and put it where ' +
      'home_assistant.token_file points; no restart is needed.',
  },
  not_admin: {
    message: "The token's user is not an administrator of Home Assistant.",
    hint:
      'Only administrators may write statistics and change the Energy dashboard. Make the user an administrator, ' +
      'or use the token of one.',
  },
  too_old: {
    message: 'Home Assistant is too old (%) for these statistics.',
    hint: 'Update it to 2025.11 or newer.',
  },
  starting: {
    message: 'Home Assistant is starting up.',
    retry: 'soon',
    hint: 'Wait a little: the bridge tries again by itself.',
  },
  no_recorder: {
    message: 'Home Assistant keeps no statistics: its recorder is not loaded.',
    hint: "Put recorder: or default_config: into Home Assistant's configuration; its log tells why it may have failed.",
  },
  cut: {
    message: 'The connection to Home Assistant broke off.',
    retry: 'soon',
    hint: 'It may be starting again. The bridge sends what is missing next time.',
  },
  silent: {
    message: 'Home Assistant did not answer in time.',
    retry: 'soon',
    hint: 'It may be busy; its log may tell with what.',
  },
  strange: {
    message: 'Home Assistant gave an answer that was not understood (%).',
    hint: 'Please report it, with the version of Home Assistant.',
  },
  too_large: {
    message: 'Home Assistant gave an answer with %, which was refused.',
    hint: 'Check home_assistant.url: no answer to what is asked there is that large. Otherwise please report it.',
  },
  refused: {
    message: 'Home Assistant refused the statistics (%).',
    hint: "Home Assistant's log tells why. If it goes on, please report it with its version.",
  },
  no_temperatures: {
    message: 'Home Assistant keeps no statistics of the sensor in home_assistant.outdoor_temperature.',
    hint:
      'Developer tools (since Home Assistant 2026.2 below Settings), Statistics, lists the sensors that have some: those with state_class: measurement. Statistics ' +
      'begin to grow once it has one.',
  },
  not_a_temperature: {
    message: 'The sensor in home_assistant.outdoor_temperature measures no temperature.',
    hint: 'Name a sensor whose unit is °C, °F or K.',
  },
  not_stored: {
    message:
      'Home Assistant took statistics in, but they cannot be read back (% rows are missing or different).',
    hint: 'Its database may be busy or full: its log tells. What is missing is sent again.',
  },
  no_energy: {
    message: 'Home Assistant has no Energy dashboard: its energy integration is not loaded.',
    hint: "Put energy: or default_config: into Home Assistant's configuration.",
  },
  energy_refused: {
    message: 'Home Assistant refused the change of its Energy dashboard (%). Nothing was changed.',
    hint: "Home Assistant's log tells why. Adding the source by hand in its settings always works.",
  },
  energy_changed: {
    message: 'The Energy dashboard was changed meanwhile. Nothing was saved.',
    retry: 'soon',
    hint: 'Look again: the change is shown once more.',
  },
} as const satisfies Readonly<Record<string, TroubleRow>>;

type TroubleKind = keyof typeof ROWS;

export class HomeAssistantTrouble extends Failure {
  readonly kind: TroubleKind;
  readonly detail: string;

  /** `detail`: a word of our own; never what came in. */
  constructor(kind: TroubleKind, detail: string | number = '', cause?: unknown) {
    const { message, retry = 'later', hint }: TroubleRow = ROWS[kind];
    const options = { exit: EXIT.homeAssistant, retry, hint, cause };
    super(`home_assistant_${kind}`, message.replace('%', String(detail)), options);
    this.kind = kind;
    this.detail = String(detail);
  }
}

/** The codes of Home Assistant's commands; what it says beside them is not told. */
const CODES: ReadonlySet<unknown> = new Set([
  'home_assistant_error',
  'id_reuse',
  'invalid_end_time',
  'invalid_format',
  'invalid_start_time',
  'invalid_units',
  'not_allowed',
  'not_found',
  'not_supported',
  'service_validation_error',
  'template_error',
  'timeout',
  'unknown_error',
  'unknown_statistic_id',
]);

/** `error`: that of Home Assistant's answer. */
export function troubleWith(command: string, error: unknown): HomeAssistantTrouble {
  const { code } = Object(error);
  if (code === 'unauthorized') return new HomeAssistantTrouble('not_admin');
  const isEnergy = command.startsWith('energy/');
  if (code === 'unknown_command') return new HomeAssistantTrouble(isEnergy ? 'no_energy' : 'no_recorder');
  const words = CODES.has(code) ? code : 'without a known reason';
  return new HomeAssistantTrouble(isEnergy ? 'energy_refused' : 'refused', words);
}

const OF_THE_CONNECTION: readonly TroubleKind[] = ['cut', 'silent', 'too_large'];

/** Trouble with one question, which leaves the others to be tried. Throws any other. */
export function ofOneQuestion(err: unknown): HomeAssistantTrouble {
  if (err instanceof HomeAssistantTrouble && !OF_THE_CONNECTION.includes(err.kind)) return err;
  throw err;
}

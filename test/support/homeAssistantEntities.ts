// Home Assistant's rules for the entities of a discovery document, platform by platform.
export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
export const isTopic = (value: unknown): boolean => isText(value) && !/[+#\0]/.test(value);

const words = (text: string): readonly string[] => text.trim().split(/\s+/);

/** What a document may say for all of its components. */
export const SHARED = words(`
  availability availability_mode availability_topic availability_template payload_available payload_not_available
  qos encoding message_expiry_interval`);
const COMMON = words(`
  name unique_id default_entity_id entity_category enabled_by_default visible_by_default icon entity_picture
  json_attributes_topic json_attributes_template ${SHARED.join(' ')}`);
const STATE = words('state_topic value_template device_class');

/** The platforms that a bridge of meters has use for. A key that is not here would be stripped without a word. */
export const KEYS_OF_PLATFORM: Readonly<Record<string, readonly string[]>> = {
  sensor: words(`${COMMON.join(' ')} ${STATE.join(' ')}
    state_class unit_of_measurement suggested_display_precision options force_update expire_after
    last_reset_value_template`),
  binary_sensor: words(`${COMMON.join(' ')} ${STATE.join(' ')}
    payload_on payload_off off_delay expire_after force_update`),
  button: words(`${COMMON.join(' ')} command_topic command_template payload_press device_class retain`),
  event: words(`${COMMON.join(' ')} ${STATE.join(' ')} event_types`),
};

const CLASSES: Readonly<Record<string, readonly string[]>> = {
  sensor: ['energy', 'monetary', 'date', 'timestamp', 'enum', 'duration', 'data_size'],
  binary_sensor: ['problem', 'connectivity'],
  button: ['restart', 'identify', 'update'],
  event: ['button', 'doorbell', 'motion'],
};

interface SensorClass {
  /** `undefined`: the text is free. */
  readonly units?: readonly string[];
  readonly stateClasses: readonly string[];
}
const ENERGY_UNITS = words('J kJ MJ GJ mWh Wh kWh MWh GWh TWh cal kcal Mcal Gcal thm');
const NO_NUMBER: SensorClass = { units: [], stateClasses: [] };
const SENSOR_CLASSES: Readonly<Record<string, SensorClass>> = {
  energy: { units: ENERGY_UNITS, stateClasses: ['total', 'total_increasing'] },
  monetary: { stateClasses: ['total'] },
  date: NO_NUMBER,
  timestamp: NO_NUMBER,
  enum: NO_NUMBER,
};

// Home Assistant never lets these through to the attributes.
const BLOCKED_ATTRIBUTES = words(`
  assumed_state available device_class device_info entity_category entity_picture entity_registry_enabled_default
  extra_state_attributes force_update friendly_name icon last_reset name should_poll state state_class
  supported_features unique_id unit_of_measurement`);

/** The words of what is wrong. */
export const wrong = (...found: readonly (readonly [isWrong: boolean, what: string])[]): string[] =>
  found.filter(([isWrong]) => isWrong).map(([, what]) => what);

export function entityComplaints(body: Fields, document: Fields): string[] {
  const { platform, device_class: deviceClass, entity_category: category, icon } = body;
  const id = String(body.default_entity_id);
  const isCommanded = platform === 'button';
  const topic = isCommanded ? 'command_topic' : 'state_topic';
  const categories = isCommanded ? ['config', 'diagnostic'] : ['diagnostic'];
  return [
    ...wrong(
      [!isTopic(body[topic] ?? document[topic]), `no ${topic}`],
      [isNotOf(CLASSES[String(platform)], deviceClass), `device_class ${deviceClass}`],
      [isNotOf(categories, category), `entity_category ${category}`],
      [icon !== undefined && !/^mdi:[a-z0-9-]+$/.test(String(icon)), `icon ${icon}`],
      [!new RegExp(`^${platform}\\.[a-z0-9]+(_[a-z0-9]+)*$`).test(id), `default_entity_id ${id}`],
      [platform === 'event' && !isListOfTexts(body.event_types), 'event_types'],
      [body.retain === true, 'a retained command'],
    ),
    ...attributeComplaints(body),
    ...(platform === 'sensor' ? sensorComplaints(body) : []),
  ];
}

function sensorComplaints(body: Fields): string[] {
  const { device_class: deviceClass, state_class: stateClass, unit_of_measurement: unit, options } = body;
  const { suggested_display_precision: precision, last_reset_value_template: reset } = body;
  const { units, stateClasses = STATE_CLASSES } = SENSOR_CLASSES[String(deviceClass)] ?? {};
  const needsUnit = deviceClass === 'energy' || deviceClass === 'monetary';
  const strangeUnit = units ? isNotOf(units, unit) : unit !== undefined && !isText(unit);
  return wrong(
    [isNotOf(stateClasses, stateClass), `state_class ${stateClass} of ${deviceClass}`],
    [unit === undefined && needsUnit, 'no unit'],
    [strangeUnit, `unit ${unit} of ${deviceClass}`],
    [(deviceClass === 'enum') !== (options !== undefined), 'options and enum go together'],
    [options !== undefined && !isListOfTexts(options), 'options'],
    [precision !== undefined && !isCount(precision), 'suggested_display_precision'],
    [reset !== undefined && stateClass !== 'total', 'last_reset_value_template'],
  );
}

function attributeComplaints(body: Fields): string[] {
  const { json_attributes_topic: topic, json_attributes_template: template } = body;
  if (topic === undefined) return wrong([template !== undefined, 'attributes without a topic']);
  const named = [...String(template ?? '').matchAll(/'(\w+)':/g)].map(([, name]) => String(name));
  return wrong(
    [!isTopic(topic), 'json_attributes_topic'],
    ...named.map((name) => [BLOCKED_ATTRIBUTES.includes(name), `attribute ${name} is blocked`] as const),
  );
}

const STATE_CLASSES = ['measurement', 'measurement_angle', 'total', 'total_increasing'];
/** What is not said is not wrong. */
const isNotOf = (allowed: readonly string[] = [], value: unknown): boolean =>
  value !== undefined && !allowed.includes(String(value));
const isCount = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 0;
const isListOfTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.every(isText) && new Set(value).size === value.length;

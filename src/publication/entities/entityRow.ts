// A row of the tables of entities: a key, what it means, and how Home Assistant shows it.

export type Value =
  | string
  | number
  | boolean
  | null
  | readonly string[]
  | Readonly<Record<string, string | number>>;

/** One key of a state object. `unit` may name `{currency}`. */
export interface EntityRow<View> {
  readonly key: string;
  /** English name, without the device's. */
  readonly name: string;
  readonly help: string;
  readonly read: (view: View) => Value;
  /** Whether Home Assistant is shown it; default: always. */
  readonly given?: (view: View) => boolean;
  /** `attribute`: shown with the entity that `of` names. */
  readonly platform: 'sensor' | 'binary_sensor' | 'attribute';
  readonly of?: string;
  /** What Home Assistant calls the attribute; default: the key. The key is then `<of>_<as>`. */
  readonly as?: string;
  readonly deviceClass?: string;
  readonly stateClass?: 'total' | 'total_increasing';
  readonly unit?: string;
  readonly precision?: number;
  readonly category?: 'diagnostic';
  /** `false`: Home Assistant lists it, and shows it once it is enabled. */
  readonly enabled?: false;
  readonly icon?: string;
  /** Fitted from the days, not given by the provider; an attribute says so. */
  readonly derived?: true;
  /** Each value that the topic may have, and the words that Home Assistant shows for it: MQTT has no translations. */
  readonly options?: Readonly<Record<string, string>>;
}

export const stateFrom = <View>(rows: readonly EntityRow<View>[], view: View): Record<string, Value> =>
  Object.fromEntries(rows.map((row) => [row.key, row.read(view)]));

// A row of the tables of entities: a key of a state, what it means, and how Home Assistant shows it. Names are in the languages.

type Value = string | number | boolean | null | readonly string[] | Readonly<Record<string, string | number>>;

/** One key of a state object. */
interface Fact<View> {
  /** A whole sentence. */
  readonly help: string;
  readonly read: (view: View) => Value;
  /** May name `{currency}`. */
  readonly unit?: string;
  readonly deviceClass?: string;
  /** Each value that the key may have, `null` apart. */
  readonly options?: readonly string[];
}

/** A key that Home Assistant shows as an attribute of its entity. */
export type AttributeRow<View> = Fact<View> &
  (
    | { readonly key: string }
    /** The name in Home Assistant. The key is the entity's, with this behind it. */
    | { readonly as: string }
  );

/** Home Assistant shows words of the language for `options`: MQTT has no translations. */
export interface EntityRow<View> extends Fact<View> {
  readonly key: string;
  /** Tells whether Home Assistant is shown it; default: always. */
  readonly given?: (view: View) => boolean;
  /** The state lacks its keys while it is not given. */
  readonly optional?: true;
  /** Default: a sensor. */
  readonly platform?: 'binary_sensor';
  readonly stateClass?: 'total' | 'total_increasing';
  readonly precision?: number;
  readonly category?: 'diagnostic';
  /** `false`: Home Assistant lists it, and shows it once it is enabled. */
  readonly enabled?: false;
  readonly icon?: string;
  /** Fitted from the days, not given by the provider; an attribute says so. */
  readonly derived?: true;
  readonly attributes?: readonly AttributeRow<View>[];
  /** The key of an entity whose attributes Home Assistant shows here as well. */
  readonly alsoShows?: string;
}

/** A key of the state with the name of the attribute that shows it; `null`: the entity itself does. */
export interface StateKey<View> extends Fact<View> {
  readonly key: string;
  readonly attribute: string | null;
  readonly entity: EntityRow<View>;
}

/** Every key of the state that the table describes, in order. */
export const keysOf = <View>(rows: readonly EntityRow<View>[]): StateKey<View>[] =>
  rows.flatMap((entity) => [{ ...entity, attribute: null, entity }, ...attributesOf(entity)]);

export const attributesOf = <View>(entity: EntityRow<View>): (StateKey<View> & { attribute: string })[] =>
  (entity.attributes ?? []).map((row) =>
    'as' in row
      ? { ...row, key: `${entity.key}_${row.as}`, attribute: row.as, entity }
      : { ...row, attribute: row.key, entity },
  );

/** `keys`: those of a table, which are found out once. */
export const stateFrom = <View>(keys: readonly StateKey<View>[], view: View): Record<string, Value> =>
  Object.fromEntries(
    keys
      .filter(({ entity: { optional, given } }) => !optional || given?.(view) !== false)
      .map(({ key, read }) => [key, read(view)]),
  );

/** Attributes that are fields of one thing, named as there; `null` where there is none. */
export const fieldsOf =
  <View, Thing extends object>(thingOf: (view: View) => Thing | null | undefined) =>
  (
    as: Extract<keyof Thing, string>,
    help: string,
    shape: Pick<Fact<View>, 'unit' | 'deviceClass' | 'options'> = {},
  ): AttributeRow<View> => ({ ...shape, as, help, read: (view) => (thingOf(view)?.[as] ?? null) as Value });

/** Properties that several rows have in common. */
export const withAll = <View>(common: Partial<EntityRow<View>>, rows: readonly EntityRow<View>[]) =>
  rows.map((row): EntityRow<View> => ({ ...common, ...row }));

export const LOWER_END = 'Lower end of the range in which the value lies in 80 of 100 cases.';
export const UPPER_END = 'Upper end of that range.';

/** The ends of a band as attributes. `help`: about the lower one. */
export const band = <View>(
  unit: string,
  help: string,
  read: (view: View, end: 'low' | 'high') => Value,
): AttributeRow<View>[] => [
  { as: 'low', help, unit, read: (view) => read(view, 'low') },
  { as: 'high', help: UPPER_END, unit, read: (view) => read(view, 'high') },
];

/** A map with at most `max` entries. A new entry in a full map evicts the entry that was set longest ago. */
export class BoundedMap<Key, Value> {
  readonly #max: number;
  readonly #map = new Map<Key, Value>();

  constructor(max: number) {
    this.#max = max;
  }

  get(key: Key): Value | undefined {
    return this.#map.get(key);
  }

  set(key: Key, value: Value): void {
    this.#map.delete(key);
    this.#map.set(key, value);
    const oldest = this.#map.keys().next();
    if (this.#map.size > this.#max && !oldest.done) this.#map.delete(oldest.value);
  }

  /** Returns the value of a key. If the key is missing, computes the value and sets it first. */
  getOrInsertComputed(key: Key, compute: () => Value): Value {
    if (!this.#map.has(key)) this.set(key, compute());
    return this.#map.get(key) as Value;
  }

  /** Removes a key and returns its value; `undefined` if the key is missing. */
  take(key: Key): Value | undefined {
    const value = this.#map.get(key);
    this.#map.delete(key);
    return value;
  }
}

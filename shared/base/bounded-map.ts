/** A map that keeps the entries that were set last, at most so many. */
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

  /** The value, computed and set where there is none. */
  getOrInsertComputed(key: Key, compute: () => Value): Value {
    if (!this.#map.has(key)) this.set(key, compute());
    return this.#map.get(key) as Value;
  }

  /** The value, which is gone from the map. */
  take(key: Key): Value | undefined {
    const value = this.#map.get(key);
    this.#map.delete(key);
    return value;
  }
}

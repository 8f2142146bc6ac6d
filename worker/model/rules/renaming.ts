import { isName } from './shapes.ts';

const STEM_CHARS_MAX = 56;

/** Gives names that match the API's pattern to what has none, without taking a name that is in use. Deterministic. */
export class Renaming {
  readonly #taken: Set<unknown>;
  readonly #given = new Map<unknown, string>();
  readonly #lastOf = new Map<string, number>();

  /** `names` are those in use; the ones that do not match the pattern are no hindrance. */
  constructor(names: Iterable<unknown> = []) {
    this.#taken = new Set(names);
  }

  /** The name itself where it is valid, else one for it: the same one each time. */
  nameOf(name: unknown): string {
    if (isName(name)) return name;
    const given = this.#given.get(name) ?? this.another(name);
    this.#given.set(name, given);
    return given;
  }

  /** Says that a name is in use. */
  take(name: unknown): void {
    this.#taken.add(name);
  }

  /** A name that nobody has, as like the given one as can be. */
  another(name: unknown): string {
    const like = String(typeof name === 'string' || typeof name === 'number' ? name : '').replaceAll(/[^\w-]/g, '_');
    const stem = like.slice(0, STEM_CHARS_MAX) || 'unnamed';
    let last = this.#lastOf.get(stem) ?? 1;
    let candidate = stem;
    while (this.#taken.has(candidate)) {
      last += 1;
      candidate = `${stem}_${last}`;
    }
    this.#lastOf.set(stem, last);
    this.#taken.add(candidate);
    return candidate;
  }
}

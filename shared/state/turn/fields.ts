import type { Change } from '../change.ts';

/** A hash of the state: read as of one moment, changed by the verbs of whoever extends it. */
export class Fields {
  protected readonly key: string;
  protected readonly fields: ReadonlyMap<string, string>;

  constructor(key: string, fields: ReadonlyMap<string, string>) {
    this.key = key;
    this.fields = fields;
  }

  protected set(...fields: (string | number)[]): Change {
    return ['HSET', this.key, ...fields];
  }

  protected unset(...names: string[]): Change {
    return ['HDEL', this.key, ...names];
  }

  protected add(name: string, by: number): Change {
    return ['HINCRBY', this.key, name, by];
  }

  protected text(name: string): string | undefined {
    return this.fields.get(name);
  }

  protected number(name: string): number | undefined {
    const text = this.fields.get(name);
    return text === undefined ? undefined : Number(text);
  }

  protected json<T>(name: string): T | undefined {
    const text = this.fields.get(name);
    return text === undefined ? undefined : (JSON.parse(text) as T);
  }
}

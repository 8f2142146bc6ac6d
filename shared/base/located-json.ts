type Path = readonly PropertyKey[];

/** A JSON document with the line numbers of its values, or the number of the line at which the text stops being JSON. */
export type LocatedJson =
  | {
      ok: true;
      value: unknown;
      /** The line of the value at a path from the root. For a missing value, the line of the nearest container on its path. */
      lineOf(path: Path): number;
      /** The paths of keys that repeat in one object. In `value` the last occurrence wins, which may surprise the author. */
      twice: readonly Path[];
    }
  | { ok: false; line: number };

/** JSON that nests deeper than this counts as malformed. No real settings file nests that deep. */
const DEPTH_MAX = 32;
const TOKEN = /\n|[{}[\],:]|"(?:[^"\\\n]|\\.)*"|[^\s{}[\],:"]+|\S/g;

/** Parses JSON and finds the lines of its values, for error messages that name a line. Pure; never throws. */
export function readLocatedJson(json: string): LocatedJson {
  const tokens = tokensOf(json);
  const lines = new Map<string, number>();
  const twice: Path[] = [];
  let at = 0;
  const lineAt = (): number => (tokens[at] ?? tokens.at(-1))?.line ?? 1;
  const take = (): string => tokens[at++]?.text ?? '';
  const refuse = (): never => {
    throw new SyntaxError('this is not JSON');
  };
  /** Reads items separated by commas, up to the closing bracket `end`. */
  const readItems = (end: string, readItem: (index: number) => void): void => {
    for (let index = 0, sign = ','; sign === ','; index++) {
      if (index === 0 && tokens[at]?.text === end) return void at++;
      readItem(index);
      sign = take();
      if (sign !== ',' && sign !== end) refuse();
    }
  };
  const readObject = (path: Path): unknown => {
    const entries = new Map<string, unknown>();
    readItems('}', () => {
      const line = lineAt();
      const key: unknown = JSON.parse(take());
      if (typeof key !== 'string' || take() !== ':') return refuse();
      if (entries.has(key)) twice.push([...path, key]);
      entries.set(key, readValue([...path, key]));
      lines.set(JSON.stringify([...path, key]), line);
    });
    return Object.fromEntries(entries);
  };
  const readValue = (path: Path): unknown => {
    lines.set(JSON.stringify(path), lineAt());
    const text = take();
    if (path.length > DEPTH_MAX) refuse();
    if (text === '{') return readObject(path);
    if (text !== '[') return JSON.parse(text);
    const items: unknown[] = [];
    readItems(']', (index) => items.push(readValue([...path, index])));
    return items;
  };
  const lineOf = (path: Path): number =>
    lines.get(JSON.stringify(path)) ?? (path.length === 0 ? 1 : lineOf(path.slice(0, -1)));
  try {
    const value = readValue([]);
    if (take() !== '') refuse();
    return { ok: true, value, lineOf, twice };
  } catch {
    at--;
    return { ok: false, line: lineAt() };
  }
}

function tokensOf(json: string): { text: string; line: number }[] {
  let line = 1;
  return [...json.matchAll(TOKEN)].flatMap(([text]) => {
    if (text === '\n') line++;
    return text === '\n' ? [] : [{ text, line }];
  });
}

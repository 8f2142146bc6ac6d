import type { Cause } from '../../../shared/flow/alert.ts';
import { DESK_MENU } from '../../../shared/telegram/commands.ts';
import { GREETING, LANGUAGES, type Language, TEXTS } from '../../../shared/texts/language.ts';
import { ALERT_WORDS } from '../../../worker/alerts/causes/words.ts';
import { actsFor, CAUSES, markOf, rowAt, rowOf } from '../../../worker/alerts/causes.ts';
import { product, read } from '../../house/sources.ts';
import { OCCASIONS } from './occasions.ts';

/** Texts that people can read on one occasion. */
export interface Row {
  /** The path of the text in its table, a cause, or a file. */
  name: string;
  occasion: string;
  /** In each language of users; texts for operators are English. */
  texts: Readonly<Partial<Record<Language, readonly string[]>>>;
}

type Tree = { readonly [name: string]: unknown };

/** Every text for users with its occasion. */
export function userRows(): Row[] {
  const greeting = (code: Language) => [code, [GREETING[code]]] as const;
  const texts = Object.fromEntries(LANGUAGES.map(greeting));
  return [...rowsIn(OCCASIONS as Tree, TEXTS.en as Tree, []), { name: 'GREETING', occasion: 'after the setup', texts }];
}

/** The rows of one group of texts. One occasion of a group is that of each of its texts. */
function rowsIn(occasions: Tree | string, table: Tree, path: readonly string[]): Row[] {
  return Object.entries(table).flatMap(([key, text]) => {
    const at = [...path, key];
    const row = typeof occasions === 'string' ? occasions : occasions[key];
    if (typeof text === 'object') return rowsIn(row as Tree | string, text as Tree, at);
    const [occasion, ...samples] = (Array.isArray(row) ? row : [row]) as [string, ...unknown[][]];
    const inLanguage = (code: Language) => {
      const own = at.reduce<unknown>((node, name) => (node as Tree)[name], TEXTS[code]);
      return typeof own === 'function' ? samples.map((sample) => String(own(...sample))) : [String(own)];
    };
    const texts = Object.fromEntries(LANGUAGES.map((code) => [code, inLanguage(code)]));
    return { name: at.join('.'), occasion, texts };
  });
}

/** Every cause of an alert: what it is at each level and what to do, what its alerts say, its buttons, and its end. */
export function alertRows(): Row[] {
  const said = saidOfCauses();
  return (Object.keys(CAUSES) as Cause[]).map((cause) => {
    const { levels = {}, end, endsBy } = CAUSES[cause];
    const heads = ['', ...Object.keys(levels)].map((level) => {
      const { severity, title, todo = '' } = rowAt({ cause, level });
      return `${markOf(severity)}: ${title}${level === '' ? '' : ` (${level})`}\n${todo}`.trim();
    });
    const buttons = actsFor(cause).map((act) => `[${ALERT_WORDS.acts[act]}]`);
    const ending = end === undefined ? [] : [`${ALERT_WORDS.resolved}: ${end}`];
    const en = [...heads, ...(said.get(cause) ?? []), ...(buttons.length === 0 ? [] : [buttons.join(' ')]), ...ending];
    return { name: cause, occasion: `an incident, ended by: ${endsBy}`, texts: { en } };
  });
}

/** The sentences of the functions that make alerts, by the causes that these functions name. */
function saidOfCauses(): Map<string, string[]> {
  const said = new Map<string, string[]>();
  const functions = product.flatMap((file) =>
    ALERTING.test(file)
      ? read(file)
          .split(/^(?=(?:export )?function )/m)
          .slice(1)
      : [],
  );
  for (const code of functions) {
    const causes = [...code.matchAll(/(?:cause|isWebhook \?|:) '([\w-]+)'/g)].flatMap(([, cause = '']) =>
      rowOf(cause) ? [cause] : [],
    );
    for (const cause of new Set(causes)) said.set(cause, [...(said.get(cause) ?? []), ...sentencesIn(code)]);
  }
  return said;
}

const ALERTING =
  /^(?:worker\/alerts\/(?:causes\/|book-store)|shared\/(?:state\/lane\/ledger|state\/message\/inbox|flow\/alert)\.ts$)/;

/** Where further sentences for operators stand as literals, and where operators read them. */
const SOURCES: readonly [RegExp, string][] = [
  [/^(?:worker\/alerts\/(?:message|redis-trouble)|shared\/redis\/keeping)\.ts$/, 'in a message about an incident'],
  [/^worker\/features\/desk\//, "in the operators' chat"],
  [/^worker\/operator\//, 'after an act, on every surface'],
  [/^worker\/report\//, 'in a report, on every surface'],
  [/^worker\/features\/console\//, 'in the console'],
];

/** The further sentences for operators. */
export function sentenceRows(): Row[] {
  const menu = Object.entries(DESK_MENU).map(([word, about]) => `/${word}: ${about}`);
  const rows = product.flatMap((name) => {
    const [, occasion] = SOURCES.find(([where]) => where.test(name)) ?? [];
    const en = occasion === undefined ? [] : sentencesIn(read(name));
    return occasion === undefined || en.length === 0 ? [] : [{ name, occasion, texts: { en } }];
  });
  return [{ name: 'DESK_MENU', occasion: "the menu of the operators' chat", texts: { en: menu } }, ...rows];
}

/** A template literal without a further one in it. */
const TEMPLATE = /`((?:[^`\\$]|\\.|\$(?!\{)|\$\{(?:[^{}`]|\{[^{}`]*\})*\})*)`/;
const STRING = /'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"/g;
const WORDS = /(?:^|[\s“(])[A-Za-z’'-]{2,}[,:]? [a-z’'-]+[,:]? [a-z’'-]{2,}/;

/** The literals of a source that read as a sentence, with `{…}` for each value. Pure. */
export function sentencesIn(source: string): string[] {
  let code = source.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$|= \/.*\/\w*;$|\blog\.\w+\(.*$/gm, '');
  const found: string[] = [];
  for (let match = TEMPLATE.exec(code); match !== null; match = TEMPLATE.exec(code)) {
    found.push((match[1] ?? '').replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, '{…}'));
    code = `${code.slice(0, match.index)}0${code.slice(match.index + match[0].length)}`;
  }
  found.push(...[...code.matchAll(STRING)].map(([, single, double]) => single ?? double ?? ''));
  const pieces = found.flatMap((text) => (text.includes('</') ? text.split(/<[^>]*>/) : [text]));
  return pieces.map((text) => text.replaceAll(/\\(.)/g, '$1').trim()).filter((text) => WORDS.test(text));
}

/** The whole list, for `npm run transcript -- --texts`. */
export function* listedTexts(): Generator<string> {
  const groups = { Users: userRows(), 'Operators: alerts': alertRows(), 'Operators: other sentences': sentenceRows() };
  for (const [title, rows] of Object.entries(groups)) {
    yield `# ${title} (${rows.length})\n`;
    for (const { name, occasion, texts } of rows) {
      yield `${name} – ${occasion}`;
      for (const text of Object.values(texts).flat()) yield `    ${text.replaceAll('\n', '\n    ')}`;
      yield '';
    }
  }
}

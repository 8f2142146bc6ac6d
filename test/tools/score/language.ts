/** What a value is: a question about a person is not answered by a place. */
export type ValueKind = 'person' | 'place' | 'number' | 'food' | 'name';

/** Something of which a person tells one value at a time. */
export interface Topic {
  noun: string;
  kind: ValueKind;
  /** The question for it; some do not use its noun. */
  asks: string;
}

/** Something that happened once, on the day on which it was told. */
export interface Happening {
  told: string;
  asks: string;
  /** What a sentence about it holds, and no other. */
  words: string;
}

/** What a generated chat is made of, in one language. */
export interface Language {
  name: string;
  topics: readonly Topic[];
  /** What else is talked about. */
  others: readonly string[];
  /** Each value is told of one thing at most. */
  values: Readonly<Record<ValueKind, readonly string[]>>;
  happenings: readonly Happening[];
  tells(noun: string, value: string): string;
  tellsAnew(noun: string, value: string): string;
  /** The value of somebody else's. */
  tellsOfAnother(noun: string, value: string): string;
  tellsOfToday(told: string): string;
  plea: string;
  notes(noun: string, value: string): string;
  notesDay(day: string, told: string): string;
  /** Begin a message, and name no topic. */
  openings: readonly string[];
  /** Sentences around a topic or anything else that tell no value of it. */
  musings: readonly ((noun: string) => string)[];
  answers: readonly string[];
}

/** The words of a list that is written with commas. */
export const listed = (words: string): string[] => words.split(',');

import { ALERT_WORDS } from './words.ts';

export type ActName = keyof (typeof ALERT_WORDS)['acts'];

/** What stands on the button of an act; `chat` is the one that it is about, where it is about one. */
export function labelOf(name: ActName, chat = ''): string {
  const { acts } = ALERT_WORDS;
  return name === 'pause' ? `${acts.pause} ${chat}` : acts[name];
}

/** Whether this version knows an act. */
export function isAct(name: string): name is ActName {
  return Object.hasOwn(ALERT_WORDS.acts, name);
}

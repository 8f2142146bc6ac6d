import type { Evidence } from './evidence.ts';

/** What shows nothing to anybody. */
const UNSENT: ReadonlySet<string> = new Set(['getMe', 'getUpdates', 'setMyCommands']);

/** What was done although Telegram was known to be away: nothing but probes is sent, and the model is not asked. Pure. */
export function loudIn({ quiet, calls, telegramCalls }: Pick<Evidence, 'quiet' | 'calls' | 'telegramCalls'>): string[] {
  const isQuiet = (at: number): boolean => quiet.some(({ fromMs, toMs }) => at >= fromMs && at < toMs);
  const asked = calls.filter(({ kind, at }) => kind === 'main' && isQuiet(at));
  const sent = telegramCalls.filter(({ method, at }) => !UNSENT.has(method) && isQuiet(at));
  return [
    ...asked.map(({ index }) => `the model was asked (${index}) while Telegram was away`),
    ...sent.map(({ method }) => `${method} was called while Telegram was away`),
  ];
}

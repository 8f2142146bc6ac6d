import type { Ground } from './ground.ts';

/** People who write a little all day, so that the gateway is never asleep. */
export interface Traffic {
  stop(): void;
}

/** Chats of their own; what is hurt on purpose happens in others. */
const FIRST_CHAT = 1001;
const CHATS = 20;
const EVERY_MS = 600;
const QUESTIONS = ['How is the harbour today?', 'What did I ask before?', 'And the tide?', '/help'];

/** Starts them. One writes every `everyMs`. */
export function startTraffic({ telegram }: Ground, everyMs = EVERY_MS): Traffic {
  let said = 0;
  const timer = setInterval(() => {
    telegram.say(FIRST_CHAT + (said % CHATS), `${QUESTIONS[said % QUESTIONS.length]}`);
    said += 1;
  }, everyMs);
  return { stop: () => clearInterval(timer) };
}

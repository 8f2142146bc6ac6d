import type { Config } from '../../shared/base/config.ts';
import { counted, inSeconds } from '../../shared/base/text.ts';
import { PROVIDER_SAID, type ProviderTrouble } from '../model/errors/failure.ts';
import { CANCELLED, PAUSED, RETRIED } from '../operator/words.ts';

/** The replies to presses of buttons under alerts, in English. A result has no full stop, since the alert shows it, too. */
const EN = {
  stop: '.',
  unknown: 'This version does not know that button. Nothing was done.',
  nothingDone: 'Nothing was done.',
  over: 'That alert is over, so nothing was done. /incidents lists what is open.',
  overSince:
    'That alert is over. What you pressed may have been done before that: /incidents and /status show how it is now.',
  changed: 'That alert has changed since, so nothing was done. Press under the alert as it is now.',
  other: 'Another message has waited longest since, so nothing was done. Press under the alert as it is now.',
  tooLate: 'That question is more than ten minutes old, so nothing was done. Press under the alert again.',
  back: 'Back',
  you: 'You',
  began: (who: string, at: string) => `${who} began that at ${at}; it is under way.`,
  did: (who: string, at: string, result: string) => `${who} did that at ${at}: ${result}.`,
  late: (at: string, seconds: number) => ` You pressed at ${at}; it was done ${inSeconds(seconds * 1_000)} later.`,

  asksPauseAll: { text: 'Pause every chat? What runs ends as it would; all else waits.', yes: 'Yes, pause all' },
  asksReplayAll: { text: 'Replay every dead letter, however old?', yes: 'Yes, replay all' },
  asksReplay: {
    text: 'The endpoint still refuses. What fails again is told to its user again.',
    yes: 'Yes, replay',
  },
  asksCancel: (chat: string) => ({
    text: `Cancel the message that chat ${chat} waits for? Its user is told.`,
    yes: 'Yes, cancel it',
  }),

  nothingWaits: 'Nothing waits',
  nothingToReplay: 'Nothing to replay',
  replayed: (done: number, of: number) => `Replayed ${done} of ${of}`,
  triedNow: (messages: number) => `${counted(messages, 'message')} tried now`,
  answers: (messages: number) => `It answers; ${counted(messages, 'message')} tried now`,
  stillFails: (trouble: ProviderTrouble) => `The endpoint still ${PROVIDER_SAID[trouble]}`,
  spared: 'Not asked now: the endpoint is spared for a moment',
  paused: (chat: string) => `Chat ${chat} ${PAUSED.paused}`,
  allPaused: `Every chat ${PAUSED.paused}`,
  resumed: (pauses: number) => (pauses === 0 ? 'Nothing was paused' : `Ended ${counted(pauses, 'pause')}`),
  retried: (chat: string, how: keyof typeof RETRIED) => `The message of chat ${chat} ${RETRIED[how]}`,
  cancelled: (chat: string, how: keyof typeof CANCELLED) => `The message of chat ${chat} ${CANCELLED[how]}`,
  closed: 'Closed',
};

/** The replies of one language. */
export type DeskWords = typeof EN;

const STILL: Readonly<Record<ProviderTrouble, string>> = {
  overloaded: '超載或出錯',
  network: '連不上，或連線中斷',
  auth: '不接受我們的金鑰',
  billing: '因帳務拒絕我們：點數用完了',
  model: '不認得這個模型',
};
const TRIED: typeof RETRIED = {
  now: '正在重試',
  replayed: '已排回佇列最後面',
  'under way': '已經在處理中',
  resting: '在暫停中的聊天室裡等待：請先恢復',
  ended: '已經結束，沒有保留可以重試的內容',
  gone: '這段期間已被重送或刪除',
  chatless: '沒有所屬聊天室，無法回覆任何人',
  unknown: '已經查不到了',
};
const ENDED: typeof CANCELLED = {
  cancelled: '已取消：執行中的幾秒內結束，等待中的輪到時結束',
  repeated: '先前已經取消',
  gone: '已經結束，沒有可以取消的',
  answered: '已有回答：正在送出，無法收回',
  command: '是用來取消其他訊息的指令，會照常執行',
  merged: '已併入前一則訊息，會跟著它結束：請取消那一則，或整個聊天室',
  idle: '沒有等待中的訊息',
};

/** The same in Traditional Chinese. */
const ZH_HANT: DeskWords = {
  stop: '。',
  unknown: '這個版本不認得這個按鈕，什麼都沒做。',
  nothingDone: '什麼都沒做。',
  over: '這則警報已經結束，所以什麼都沒做。/incidents 會列出還沒解決的。',
  overSince: '這則警報已經結束。你按的動作可能在那之前就做了：請用 /incidents 和 /status 看現況。',
  changed: '這則警報的內容已經變了，所以什麼都沒做。請按警報上現在的按鈕。',
  other: '現在等最久的是另一則訊息，所以什麼都沒做。請按警報上現在的按鈕。',
  tooLate: '這個問題已經超過十分鐘，所以什麼都沒做。請重新按警報上的按鈕。',
  back: '返回',
  you: '你',
  began: (who, at) => `${who} 在 ${at} 已經開始做這件事，還在進行中。`,
  did: (who, at, result) => `${who} 在 ${at} 已經做過：${result}。`,
  late: (at, seconds) => `你在 ${at} 按下，${seconds} 秒後才執行。`,

  asksPauseAll: { text: '要暫停所有聊天室嗎？執行中的會照常結束，其他都會等待。', yes: '是，全部暫停' },
  asksReplayAll: { text: '要重送所有失敗訊息嗎？不論多久以前的都算。', yes: '是，全部重送' },
  asksReplay: { text: '端點仍然拒絕請求。再次失敗的訊息，使用者會再收到一次通知。', yes: '是，重送' },
  asksCancel: (chat) => ({ text: `要取消聊天室 ${chat} 正在等的訊息嗎？使用者會收到通知。`, yes: '是，取消' }),

  nothingWaits: '沒有等待中的訊息',
  nothingToReplay: '沒有可以重送的訊息',
  replayed: (done, of) => `已重送 ${done}／${of} 則`,
  triedNow: (messages) => `已立即重試 ${messages} 則訊息`,
  answers: (messages) => `端點有回應，已立即重試 ${messages} 則訊息`,
  stillFails: (trouble) => `端點仍然${STILL[trouble]}`,
  spared: '現在先不呼叫端點，讓它緩一緩',
  paused: (chat) => `聊天室 ${chat} 已暫停：訊息會等待`,
  allPaused: '所有聊天室已暫停：訊息會等待',
  resumed: (pauses) => (pauses === 0 ? '沒有暫停中的聊天室' : `已解除 ${pauses} 項暫停`),
  retried: (chat, how) => `聊天室 ${chat} 的訊息${TRIED[how]}`,
  cancelled: (chat, how) => `聊天室 ${chat} 的訊息${ENDED[how]}`,
  closed: '已結案',
};

const WORDS: Readonly<Record<Config['ALERT_LANGUAGE'], DeskWords>> = { en: EN, 'zh-Hant': ZH_HANT };

/** The replies to presses in the language of alerts. Pure. */
export function deskWords({ ALERT_LANGUAGE: language }: Pick<Config, 'ALERT_LANGUAGE'>): DeskWords {
  return WORDS[language];
}

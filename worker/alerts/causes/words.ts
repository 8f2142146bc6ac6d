import { counted } from '../../../shared/base/text.ts';
import type { Cause } from '../../../shared/flow/alert.ts';
import type { ProviderTrouble } from '../../model/errors/failure.ts';

/** What to do once the endpoint takes requests again. */
const REPLAY = 'then press “Replay failed”, or run "npm run cli -- dead replay --all --since 2h".';

/** The texts around the message about an incident. The alert itself says what happened. */
export const ALERT_WORDS = {
  /** The incident in a few words, for lists and for later notices. */
  title: {
    budget: 'The budget of all chats is half or nearly used up',
    'over-budget': 'Messages are refused, since the budget of all chats is used up',
    provider: 'The model endpoint does not answer',
    'fixed-parts': 'Every message fails: the endpoint refuses every request',
    'model-retires': 'A model is to be retired',
    'model-gone': 'A model that chats chose is gone',
    'no-poll': 'Nobody polls Telegram',
    'no-delivery': 'The webhook receives nothing',
    conflict: 'Another process receives with the same token',
    token: 'The bot token is not accepted',
    'group-moved': 'Groups have new ids',
    'fresh-session': 'Context overflow: chats were moved to fresh sessions',
    'history-refused': 'The model refused conversations',
    'torn-session': 'Session logs hold records that cannot be read',
    window: 'The endpoint takes less than CONTEXT_WINDOW_TOKENS',
    ledger: 'The ledger does not add up',
    'lost-data': 'Redis lost data',
    memory: 'Redis is nearly full, or evicts data',
    persistence: 'Redis does not keep its data on disk',
    'blob-store': 'The blob store cannot be used',
    telegram: 'Telegram does not answer',
    undeliverable: 'Replies could not be delivered',
    unsure: 'Parts of replies may be missing',
    'long-wait': 'The gateway is asked to wait for long',
    'tool-refused': "The model's API refuses a tool",
    'tools-omitted': 'Tools of an MCP server are left out',
    'tool-server': 'A tool server is down',
    unanswered: 'Messages are unanswered for too long',
    paused: 'Messages wait in chats that an operator has paused',
    idle: 'Jobs wait and none is active',
    'gave-up': 'Messages could not be answered',
    failed: 'Messages failed',
    undecodable: 'Entries of the inbound stream could not be read',
    'dead-letters': 'Dead letters pile up',
    'unclean-end': 'Processes ended without a goodbye',
    'alert-channel': 'Alerts cannot be sent',
    watcher: 'A part of the watch fails',
    'other-version': 'Another version wrote what this one does not know',
  } satisfies Record<Cause, string>,
  /** What the operator does about it. */
  todo: {
    budget: 'Raise it, or messages are refused once it is used up.',
    'over-budget': 'Raise it and restart, or wait for the next day or month, UTC.',
    provider: '',
    'fixed-parts': `Check the system prompt, the tools and the proxy; ${REPLAY}`,
    'model-retires': 'Name another model in the setting.',
    'model-gone': 'Take it out of MODELS, so that nobody chooses it again.',
    'no-poll': 'Check the producer and its connection to TELEGRAM_API_ROOT.',
    'no-delivery': 'Check TELEGRAM_WEBHOOK_URL from outside.',
    conflict: 'Stop it, or revoke the token with BotFather.',
    token: 'Set TELEGRAM_BOT_TOKEN to the one that BotFather shows.',
    'group-moved': 'Write the new ids where the old ones stand in the settings, such as TELEGRAM_ALLOWED_IDS.',
    'fresh-session': 'If it happens to many chats, compare the window of the model with CONTEXT_BUDGET_TOKENS.',
    'history-refused': 'Look at the guardrails of the proxy in front of the model, if there is one.',
    'torn-session': 'Check Redis and its disk.',
    window: 'Lower CONTEXT_WINDOW_TOKENS, or remove it: until then every message of a longer chat is refused first.',
    ledger: 'See the runbook: messages may have gone without an outcome.',
    'lost-data': 'Check how Redis ended, and its settings of persistence and replication.',
    memory:
      'Nearly full: raise maxmemory, or set LEDGER_RETENTION_DAYS or SESSION_IDLE_DAYS. Evicting: set maxmemory-policy to noeviction.',
    persistence: 'Check the disk of Redis, or its appendonly: what it takes now is gone when it ends.',
    'blob-store':
      'Check BLOB_URL: the disk and the owner of its folder, or its bucket and the keys for it; all workers need the same one.',
    telegram:
      'Check the network and TELEGRAM_API_ROOT. Nothing is sent until it answers; finished answers wait for TELEGRAM_PATIENCE_MS, in order.',
    undeliverable:
      'Each names the reason. “Deliver again” delivers the answers without asking the model again; "npm run cli -- dead replay <id>", or /retry in the chat, one of them.',
    unsure: 'Telegram confirmed other messages meanwhile, and did not say whether it took these.',
    'long-wait':
      'The model: look at the limits of the account, and at the proxy in front of it. Telegram: look at what else sends with this token.',
    'tool-refused': '',
    'tools-omitted': '"npm run cli -- check" says why.',
    'tool-server': 'Chats go on without its tools. Check MCP_CONFIG and the server.',
    unanswered: '/status says what holds them up, /message and the entry named here where that one is.',
    paused:
      '/status says who paused what, and why; “Resume” ends all of it, "npm run cli -- resume <chat>" that of one chat.',
    idle: 'Restart the worker.',
    'gave-up': 'They are dead letters: /dead names them, “Replay failed” puts them back.',
    failed:
      'They are dead letters: /dead names them, “Replay failed” puts them back, "npm run cli -- dead replay <id>" one of them.',
    undecodable: 'Find out what writes to this stream beside Spillway.',
    'dead-letters':
      '/dead names them; “Replay failed” puts all of them back, "npm run cli -- dead purge <id>" removes one.',
    'unclean-end':
      'What they were answering runs again by itself. The log around that time says why: killed, out of memory, or an event loop that stood still.',
    'alert-channel': 'Check TELEGRAM_ALERT_CHAT_ID, and set ALERT_WEBHOOK_URL or ALERTMANAGER_URL as a second channel.',
    watcher: 'The log has the error. What it names goes unnoticed until it works again; everything else is watched.',
    'other-version': '',
  } satisfies Record<Cause, string>,
  /** The end: what is said once things are well again. A fact has none. */
  over: {
    budget: 'a new day or month of the budget began, or it was raised.',
    'over-budget': 'a new day or month of the budget began, or it was raised.',
    provider: 'the model endpoint answers again, or nobody has asked it for a while.',
    'fixed-parts': 'the endpoint takes requests again.',
    'model-retires': 'no setting names the model any more, or its date has moved.',
    'model-gone': 'no more chats find their model gone.',
    'no-poll': 'Telegram is polled again.',
    'no-delivery': 'the webhook receives messages again.',
    conflict: 'no other process receives with the same token any more.',
    token: 'the bot token is accepted again.',
    'group-moved': '',
    'fresh-session': 'no more chats are moved to fresh sessions.',
    'history-refused': 'no more conversations are refused.',
    'torn-session': 'no more unreadable records are found.',
    window: 'no more requests are refused below CONTEXT_WINDOW_TOKENS.',
    ledger: 'the ledger adds up again.',
    'lost-data': '',
    memory: 'Redis has room again, and evicts nothing.',
    persistence: 'Redis keeps its data on disk again.',
    'blob-store': 'the blob store is used again.',
    telegram: 'Telegram answers again; what waited is sent in order.',
    undeliverable: 'no more replies are undeliverable.',
    unsure: 'sends are confirmed again.',
    'long-wait': 'no more long waits are asked for.',
    'tool-refused': '',
    'tools-omitted': '',
    'tool-server': 'the tool server is up again.',
    unanswered: 'messages are answered again.',
    paused: 'no message waits for a pause any more.',
    idle: 'waiting jobs are run again.',
    'gave-up': 'no more messages are given up.',
    failed: 'no more messages fail.',
    undecodable: 'no more entries are unreadable.',
    'dead-letters': 'the pile of dead letters is small again.',
    'unclean-end': 'no more processes end that way.',
    'alert-channel': 'alerts are sent again.',
    watcher: 'the watch is whole again.',
    'other-version': '',
  } satisfies Record<Cause, string>,
  /** What is said at those levels of a cause at which that is something else. */
  levels: {
    provider: {
      overloaded: {
        title: 'The model endpoint is overloaded',
        todo: 'Nothing: messages wait, and are answered when it is back.',
      },
      network: {
        title: 'The model endpoint cannot be reached',
        todo: 'Check ANTHROPIC_BASE_URL, the network and the proxy. Messages wait meanwhile.',
      },
      auth: {
        title: 'Every message fails: the API key is refused',
        todo: `Correct ANTHROPIC_API_KEY and restart; ${REPLAY}`,
      },
      billing: { title: 'Every message fails: the credit is used up', todo: `Add credit; ${REPLAY}` },
      model: {
        title: 'Every message fails: the model is not known',
        todo: `Correct MODEL, FALLBACK_MODEL and COMPACTION_MODEL, and restart; ${REPLAY}`,
      },
    } satisfies Record<ProviderTrouble, object>,
  },
  /** What each process tells by itself. */
  redisWrites: { title: 'Redis takes no writes', over: 'Redis takes writes again' },
  watchdog: { title: 'The watchdog of a process fails', over: 'the watchdog looks again' },
  seenBy: (over: string, pid: number, host: string, seconds: number) =>
    `${over}, as process ${pid} on ${host} sees it. It lasted ${counted(seconds, 'second')}.`,

  since: (at: string, whom: string) => `Since ${at}${whom && `: ${whom}`}.`,
  lasted: (seconds: number, whom: string, incident: string) =>
    `It lasted ${counted(seconds, 'second')}${whom && `: ${whom}`} (${incident}).`,
  times: (times: number) => counted(times, 'time'),
  messages: (messages: number, chats: number) => `${counted(messages, 'message')} of ${counted(chats, 'chat')}`,
  back: (times: number, at: string) => `It is back: ${counted(times, 'time')} since ${at}.`,
  resolved: 'Resolved',
  closedBy: (by: string) => `closed by ${by}.`,
  changed: 'Changed',
  lasts: 'Still open',
  grown: 'More',
  latest: 'Latest',
  more: (more: number) => `… and ${more} more, each in the log`,
  late: (at: string) => `Sent late: this is of ${at}.`,

  done: (result: string, by: string, at: string) => `${result} · by ${by}, ${at}`,
  underWay: (act: string) => `Under way: ${act}`,
  links: { trace: 'Trace', runbook: 'Runbook', console: 'Console' },
  /** What operators may do about an incident by a button under its message, and what stands on the button. */
  acts: {
    /** Puts back what has failed since the incident began. */
    replay: 'Replay failed',
    /** The same, where answers were finished and are only delivered. */
    deliver: 'Deliver again',
    /** Tries the message that has waited longest. */
    retry: 'Try again now',
    /** Asks the endpoint whether it answers, and tries what waits. */
    probe: 'Try again now',
    /** Tries all that waits. */
    promote: 'Try again now',
    /** The chat of the message that has waited longest, whose name follows. */
    pause: 'Pause chat',
    'pause-all': 'Pause every chat',
    resume: 'Resume',
    /** The message that has waited longest. */
    cancel: 'Cancel message',
    close: 'Close',
  },
};

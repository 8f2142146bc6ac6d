import type { Cause } from '../../shared/flow/alert.ts';

/** How incidents of a cause behave. */
export interface CauseRule {
  /** The incident in a few words, for lists and for later notices. */
  title: string;
  /** What the operator does about it. */
  todo: string;
  /** The end: what is said once things are well again. A `fact` stays true, so it is forgotten silently. */
  over: string;
  /**
   * What ends it: the `watch` sees that its condition is gone; an alert says so (`alert`); no further occurrence for a
   * while (`quiet`); nothing can (`fact`).
   */
  endsBy: 'watch' | 'alert' | 'quiet' | 'fact';
  /** Whether each occurrence is named and not only counted: only the operator is notified of it, or it cost a history. */
  namesEach?: true;
  /** Whether it tells of what is to come: then nothing is wrong yet, and the operator is not reminded of it. */
  isAhead?: true;
}

/** The causes of incidents: one incident at a time for each cause and key, for the whole installation. */
export const CAUSES: Readonly<Record<Cause, CauseRule>> = {
  'fresh-session': {
    title: 'Context overflow: chats were moved to fresh sessions',
    todo: 'The old sessions stay readable. If it happens to many chats, compare the window of the model with CONTEXT_BUDGET_TOKENS.',
    over: 'no more chats are moved to fresh sessions.',
    endsBy: 'quiet',
    namesEach: true,
  },
  'history-refused': {
    title: 'The model refused conversations',
    todo: 'Look at the guardrails of the proxy in front of the model, if there is one.',
    over: 'no more conversations are refused.',
    endsBy: 'quiet',
    namesEach: true,
  },
  'overflow-storm': {
    title: 'Many chats overflow at the same time',
    todo: 'The window that we assume is wrong, and not the chats: check MODEL, CONTEXT_WINDOW_TOKENS and the proxy in front of the model.',
    over: 'chats that overflowed are answered again.',
    endsBy: 'quiet',
  },
  window: {
    title: 'The endpoint takes less than CONTEXT_WINDOW_TOKENS',
    todo: 'Lower CONTEXT_WINDOW_TOKENS, or remove it: until then every message of a longer chat is refused first.',
    over: 'no more requests are refused below CONTEXT_WINDOW_TOKENS.',
    endsBy: 'quiet',
  },
  'gave-up': {
    title: 'Messages could not be answered',
    todo: 'The messages are dead letters: "cli dead list" names them.',
    over: 'no more messages are given up.',
    endsBy: 'quiet',
  },
  failed: {
    title: 'Messages failed',
    todo: 'They are dead letters: "cli dead list" names them, "cli dead replay" sends them again.',
    over: 'no more messages fail.',
    endsBy: 'quiet',
  },
  'fixed-parts': {
    title: 'The endpoint refuses every request',
    todo: 'Replay the failed messages with "cli dead replay" when it is mended.',
    over: 'no more requests are refused.',
    endsBy: 'quiet',
  },
  undeliverable: {
    title: 'Replies could not be delivered',
    todo: 'Each names the reason. Answers are kept as dead letters: "cli dead replay", or /retry in the chat, delivers them without asking the model again.',
    over: 'no more replies are undeliverable.',
    endsBy: 'quiet',
    namesEach: true,
  },
  telegram: {
    title: 'Telegram does not answer',
    todo: 'Check the network and TELEGRAM_API_ROOT. Nothing is sent until it answers; finished answers wait for TELEGRAM_PATIENCE_MS, in order.',
    over: 'Telegram answers again; what waited is sent in order.',
    endsBy: 'watch',
    namesEach: true,
  },
  unsure: {
    title: 'Parts of replies may be missing',
    todo: 'Telegram confirmed other messages meanwhile, and did not say whether it took these.',
    over: 'sends are confirmed again.',
    endsBy: 'quiet',
    namesEach: true,
  },
  undecodable: {
    title: 'Entries of the inbound stream could not be read',
    todo: 'Find out what writes to this stream beside Spillway.',
    over: 'no more entries are unreadable.',
    endsBy: 'quiet',
    namesEach: true,
  },
  'torn-session': {
    title: 'Session logs hold records that cannot be read',
    todo: 'Check Redis and its disk.',
    over: 'no more unreadable records are found.',
    endsBy: 'quiet',
    namesEach: true,
  },
  'tool-refused': { title: "The model's API refuses a tool", todo: '', over: '', endsBy: 'fact' },
  'tools-omitted': { title: 'Tools of an MCP server are left out', todo: '', over: '', endsBy: 'fact' },
  'tool-server': {
    title: 'A tool server is down',
    todo: 'Chats go on without its tools. Check MCP_CONFIG and the server.',
    over: 'the tool server is up again.',
    endsBy: 'alert',
  },
  provider: {
    title: 'The model endpoint does not answer',
    todo: '',
    over: 'the model endpoint answers again, or nobody has asked it for a while.',
    endsBy: 'watch',
  },
  'model-retires': {
    title: 'A model is to be retired',
    todo: 'Name another model in the setting.',
    over: 'no setting names the model any more, or its date has moved.',
    endsBy: 'watch',
    isAhead: true,
  },
  'model-gone': {
    title: 'A model that chats chose is gone',
    todo: 'Take it out of MODELS, so that nobody chooses it again.',
    over: 'no more chats find their model gone.',
    endsBy: 'quiet',
  },
  'no-poll': {
    title: 'Nobody polls Telegram',
    todo: 'Check the producer and its connection to TELEGRAM_API_ROOT.',
    over: 'Telegram is polled again.',
    endsBy: 'watch',
  },
  'no-delivery': {
    title: 'The webhook receives nothing',
    todo: 'Check TELEGRAM_WEBHOOK_URL from outside.',
    over: 'the webhook receives messages again.',
    endsBy: 'watch',
  },
  conflict: {
    title: 'Another process receives with the same token',
    todo: 'Stop it, or revoke the token with BotFather.',
    over: 'no other process receives with the same token any more.',
    endsBy: 'watch',
  },
  token: {
    title: 'The bot token is not accepted',
    todo: 'Set TELEGRAM_BOT_TOKEN to the one that BotFather shows.',
    over: 'the bot token is accepted again.',
    endsBy: 'watch',
  },
  unanswered: {
    title: 'Messages are unanswered for too long',
    todo: 'Look at readyz, and at the trace.',
    over: 'messages are answered again.',
    endsBy: 'watch',
  },
  paused: {
    title: 'Messages wait in chats that an operator has paused',
    todo: '"cli status" says who paused what, and why; "cli resume" goes on.',
    over: 'no message waits for a pause any more.',
    endsBy: 'watch',
  },
  idle: {
    title: 'Jobs wait and none is active',
    todo: 'Restart the worker.',
    over: 'waiting jobs are run again.',
    endsBy: 'watch',
  },
  ledger: {
    title: 'The ledger does not add up',
    todo: 'See the runbook: messages may have gone without an outcome.',
    over: 'the ledger adds up again.',
    endsBy: 'alert',
  },
  'lost-data': {
    title: 'Redis lost data',
    todo: 'Check how Redis ended, and its settings of persistence and replication.',
    over: '',
    endsBy: 'fact',
    namesEach: true,
  },
  'unclean-end': {
    title: 'Processes ended without a goodbye',
    todo: 'What they were answering runs again by itself. The log around that time says why: killed, out of memory, or an event loop that stood still.',
    over: 'no more processes end that way.',
    endsBy: 'quiet',
    namesEach: true,
  },
  'dead-letters': {
    title: 'Dead letters pile up',
    todo: 'Replay or purge them: "cli dead --help".',
    over: 'the pile of dead letters is small again.',
    endsBy: 'watch',
  },
  budget: {
    title: 'The daily budget of all chats is nearly used up',
    todo: 'Raise TOTAL_DAILY_TOKENS, or messages are refused until midnight, UTC.',
    over: 'a new day of the budget began, or it was raised.',
    endsBy: 'watch',
  },
  'group-moved': {
    title: 'Groups have new ids',
    todo: 'Put the new ids into TELEGRAM_ALLOWED_IDS before the next restart.',
    over: '',
    endsBy: 'fact',
    namesEach: true,
  },
  'over-budget': {
    title: 'Messages are refused, since the daily budget of all chats is used up',
    todo: 'Raise TOTAL_DAILY_TOKENS, or wait until midnight, UTC.',
    over: 'no more messages are refused for the budget.',
    endsBy: 'quiet',
  },
  memory: {
    title: 'Redis is nearly full',
    todo: 'Raise maxmemory, or shorten SESSION_RETENTION_DAYS.',
    over: 'Redis has room again.',
    endsBy: 'watch',
  },
  persistence: {
    title: 'Redis cannot write its files',
    todo: 'Check the disk of Redis: what it takes now is gone when it ends.',
    over: 'Redis writes its files again.',
    endsBy: 'watch',
  },
  'blob-store': {
    title: 'The blob store cannot be used',
    todo: 'Check BLOB_URL: the disk and the owner of its folder, or its bucket and the keys for it; all workers need the same one.',
    over: 'the blob store is used again.',
    endsBy: 'quiet',
  },
  'alert-channel': {
    title: 'Alerts cannot be sent',
    todo: 'Check TELEGRAM_ALERT_CHAT_ID, and set ALERT_WEBHOOK_URL as a second channel.',
    over: 'alerts are sent again.',
    endsBy: 'watch',
  },
  'earlier-version': { title: 'An alert of an earlier version', todo: '', over: '', endsBy: 'fact' },
};

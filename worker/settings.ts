import type { Config } from '../shared/base/config.ts';
import type { Settings } from './lane/settings.ts';
import type { SettingFiles } from './setting-files.ts';
import { serverTools } from './tools/server-tools.ts';

const WAITING_NOTICE_MS = 60_000;
/** Long enough for a proxy to have chosen another server, short enough for a person who waits. */
const DOUBT_WAIT_MS = 2_000;
/** A summary that takes longer is not waited for: there is a way on without one. */
const SUMMARY_TIME_MS = 60_000;

/** The settings of turns, from the configuration and the files that it names. */
export function settingsOf({
  config,
  files,
  limits,
}: {
  config: Config;
  files: Pick<SettingFiles, 'systemPrompt' | 'preserve' | 'prices'>;
  limits?: Partial<Pick<Settings, 'waitingNoticeMs' | 'summaryPatienceMs' | 'summaryTimeMs' | 'doubtWaitMs'>>;
}): Settings {
  return {
    modelName: config.MODEL,
    endpoint: config.ANTHROPIC_BASE_URL,
    statedWindowTokens: config.CONTEXT_WINDOW_TOKENS,
    models: [...new Set([config.MODEL, ...config.MODELS])],
    prices: files.prices,
    fallbackModel: config.FALLBACK_MODEL,
    compactionModel: config.COMPACTION_MODEL ?? config.MODEL,
    systemPrompt: files.systemPrompt,
    preserve: files.preserve,
    maxOutputTokens: config.MAX_OUTPUT_TOKENS,
    effort: config.EFFORT,
    serverTools: serverTools({ webSearch: config.WEB_SEARCH, webFetch: config.WEB_FETCH }),
    contextBudgetTokens: config.CONTEXT_BUDGET_TOKENS,
    rich: config.TELEGRAM_RICH,
    timeZone: config.TZ,
    reminderMinutesMin: config.REMINDER_MINUTES_MIN,
    headerSecret: config.TELEGRAM_BOT_TOKEN,
    compactAt: config.COMPACT_AT,
    commentWaitMs: config.COMMENT_WAIT_MS,
    maxAttempts: config.MAX_ATTEMPTS,
    turnTimeoutMs: config.TURN_TIMEOUT_MS,
    turnMaxMs: config.TURN_MAX_MS,
    recoveryTimeoutMs: config.RECOVERY_TIMEOUT_MS,
    outagePatienceMs: config.OUTAGE_PATIENCE_MS,
    telegramPatienceMs: config.TELEGRAM_PATIENCE_MS,
    waitingNoticeMs: limits?.waitingNoticeMs ?? WAITING_NOTICE_MS,
    doubtWaitMs: limits?.doubtWaitMs ?? DOUBT_WAIT_MS,
    summaryPatienceMs: limits?.summaryPatienceMs ?? SUMMARY_TIME_MS,
    summaryTimeMs: limits?.summaryTimeMs ?? SUMMARY_TIME_MS,
    toolResultMaxChars: config.TOOL_RESULT_MAX_CHARS,
    toolRoundsMax: config.TOOL_ROUNDS_MAX,
    textMaxChars: config.INBOUND_TEXT_MAX_CHARS,
    shards: config.SHARDS,
    logContent: config.LOG_CONTENT,
  };
}

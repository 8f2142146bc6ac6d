import { ALERT_SCENARIOS } from './alert-scenarios.ts';
import { CLAUDE_SCENARIOS } from './claude-scenarios.ts';
import { CLOCK_SCENARIOS } from './clock-scenarios.ts';
import { CONSENT_SCENARIOS } from './consent-scenarios.ts';
import { DECODER_SCENARIOS } from './decoder-scenarios.ts';
import { FAILOVER_SCENARIOS } from './failover-scenarios.ts';
import { FAILPOINT_SCENARIOS } from './failpoint-scenarios.ts';
import { GATEWAY_SCENARIOS } from './gateway-scenarios.ts';
import { HEARING_SCENARIOS } from './hearing-scenarios.ts';
import { JOB_SCENARIOS } from './job-scenarios.ts';
import { LINE_SCENARIOS } from './line-scenarios.ts';
import { REDIS_SCENARIOS } from './redis-scenarios.ts';
import type { Scenario } from './scenario.ts';
import { SEARCH_SCENARIOS } from './search-scenarios.ts';
import { TELEGRAM_SCENARIOS } from './telegram-scenarios.ts';
import { WATCHER_SCENARIOS } from './watcher-scenarios.ts';
import { WEBHOOK_SCENARIOS } from './webhook-scenarios.ts';
import { WRITING_SCENARIOS } from './writing-scenarios.ts';

/** Every scenario of the suite. */
export const SCENARIOS: readonly Scenario[] = [
  ...REDIS_SCENARIOS,
  ...FAILOVER_SCENARIOS,
  ...HEARING_SCENARIOS,
  ...LINE_SCENARIOS,
  ...GATEWAY_SCENARIOS,
  ...DECODER_SCENARIOS,
  ...JOB_SCENARIOS,
  ...CONSENT_SCENARIOS,
  ...CLAUDE_SCENARIOS,
  ...SEARCH_SCENARIOS,
  ...WRITING_SCENARIOS,
  ...WEBHOOK_SCENARIOS,
  ...TELEGRAM_SCENARIOS,
  ...ALERT_SCENARIOS,
  ...CLOCK_SCENARIOS,
  ...WATCHER_SCENARIOS,
  ...FAILPOINT_SCENARIOS,
];

import type { Redis } from 'ioredis';
import type { Keys } from '../../../shared/redis/keys.ts';
import type { ClaudeStandIn } from '../../stand-in/claude/server.ts';
import type { OtlpStandIn } from '../../stand-in/otlp.ts';
import type { TelegramStandIn } from '../../stand-in/telegram/server.ts';

/** Everything around the gateway of the demo. */
export interface Stage {
  claude: ClaudeStandIn;
  telegram: TelegramStandIn;
  otlp: OtlpStandIn;
  /** For looking at the gateway's state from outside. */
  peek: Redis;
  keys: Keys;
  chat: number;
  operator: number;
  question: string;
}

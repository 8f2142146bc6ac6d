import type { Settings } from '../../shared/base/settings.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import type { SettingFiles } from '../setting-files.ts';

/** The result of a check about one part. */
export interface Finding {
  part: string;
  ok: boolean;
  /** Set if `detail` contains advice. */
  isAdvice?: true;
  /** Text for the operator; never a secret. */
  detail: string;
}

export const passed = (part: string, detail: string): Finding => ({ part, ok: true, detail });
export const withAdvice = (part: string, detail: string): Finding => ({ part, ok: true, isAdvice: true, detail });
export const failed = (part: string, detail: string): Finding => ({ part, ok: false, detail });

/** The settings and connections that the checks use. */
export interface CheckContext {
  settings: Settings;
  files: SettingFiles;
  redis: RedisToCheck;
  window: Promise<EndpointWindow>;
}

/** The connection to Redis with a description of the server, or the finding that says why there is no connection. */
export type RedisToCheck = { client: RedisClient; description: string } | { client?: undefined; finding: Finding };

/** The window of `MODEL` as the endpoint states it. `isKnown`: whether the endpoint describes the model at all. */
export interface EndpointWindow {
  isKnown: boolean;
  tokens?: number;
}

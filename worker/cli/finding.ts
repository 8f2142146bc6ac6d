import type { Settings } from '../../shared/base/settings.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import type { SettingFiles } from '../setting-files.ts';

export interface Finding {
  part: string;
  ok: boolean;
  /** All works, and something should be otherwise. */
  isAdvice?: true;
  /** Text for the operator; never a secret. */
  detail: string;
}

export const fine = (part: string, detail: string): Finding => ({ part, ok: true, detail });
export const advised = (part: string, detail: string): Finding => ({ part, ok: true, isAdvice: true, detail });
export const failed = (part: string, detail: string): Finding => ({ part, ok: false, detail });

export interface Ground {
  settings: Settings;
  files: SettingFiles;
  redis: ReachedRedis;
  stated: Promise<StatedWindow>;
}

/** The Redis of a check, with a description of the server before it is asked anything; or else why there is none. */
export type ReachedRedis = { client: RedisClient; words: string } | { client?: undefined; finding: Finding };

/** The window that the endpoint states, if any; whether it says anything at all. */
export interface StatedWindow {
  isKnown: boolean;
  tokens?: number;
}

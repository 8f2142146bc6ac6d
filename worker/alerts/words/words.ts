import type { Config } from '../../../shared/base/config.ts';
import { ALERTS_EN, type AlertWords } from './en.ts';
import { ALERTS_ZH_HANT } from './zh-hant.ts';

/** The words around alerts, by `ALERT_LANGUAGE`. A further language is one more table here, and one of the desk's. */
export const ALERT_WORDS: Readonly<Record<Config['ALERT_LANGUAGE'], AlertWords>> = {
  en: ALERTS_EN,
  'zh-Hant': ALERTS_ZH_HANT,
};

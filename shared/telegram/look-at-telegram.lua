-- Reads what the installation knows of Telegram.
-- KEYS  1 telegram
-- ARGV  none
-- Reply see telegram_state
-- include: time, telegram
return telegram_state(KEYS[1], now_ms())
